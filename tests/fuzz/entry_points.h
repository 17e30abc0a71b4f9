// The functions that are fuzzed: each takes any bytes and returns, or the program dies. libFuzzer
// calls one of them per program; the ordinary tests call all of them with the files in corpus/.
#pragma once

#include <string>
#include <string_view>

namespace nutshell::fuzz {

void fuzz_frame(std::string_view input);         // frames, and every message in them
void fuzz_exec_loop(std::string_view input);     // a client whose init sends any bytes
void fuzz_init_input(std::string_view input);    // an init's connection whose host sends any bytes
void fuzz_config(std::string_view input);        // --config
void fuzz_ignore(std::string_view input);        // globs and ignore files
void fuzz_compaction(std::string_view input);    // the output of a command
void fuzz_mcp(std::string_view input);           // an MCP client's messages
void fuzz_http(std::string_view input);          // HTTP requests and WebSocket frames
void fuzz_images(std::string_view input);        // indexes, manifests, names of images; ELF files
void fuzz_unpack(std::string_view input);        // archives, unpacked into a directory
void fuzz_names(std::string_view input);         // questions of commands for names
void fuzz_proxy(std::string_view input);         // the beginning of a connection to init's proxy
void fuzz_image_header(std::string_view input);  // pictures that a model reads
void fuzz_egress(std::string_view input);        // requests and first bytes of a sandbox
void fuzz_host_trust(std::string_view input);  // git's index, configuration and other judged files
void fuzz_kubernetes(std::string_view input);  // kubeconfig files, answers, quantities, ids, pods

// Gives the output of a command to one parser; each has its own program, named like its source.
// Returns false if the parser does not recognise it.
bool fuzz_parser(std::string_view name, std::string_view input);
std::string folder_of(std::string_view parser);  // its name there, and that of its corpus

}  // namespace nutshell::fuzz
