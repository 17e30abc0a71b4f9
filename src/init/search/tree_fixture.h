// A tree that a test makes, and requests about it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/file.h"
#include "base/scratch_fixture.h"
#include "init/search/find_files.h"
#include "init/search/list_directory.h"
#include "init/search/place.h"
#include "init/search/search_files.h"
#include "wire/frame.h"
#include "wire/tool_schema.h"

namespace nutshell::init::search {

class SearchTreeTest : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((scratch_ / path).parent_path());
    const auto written = write_file(scratch_ / path, text);
    ASSERT_TRUE(written) << written.error().message;
  }

  Place place(const std::string& path = "") {
    auto opened = open_place(path, scratch_.path());
    EXPECT_TRUE(std::holds_alternative<Place>(opened));
    return std::move(std::get<Place>(opened));
  }
  // Internal: it is not refused.
  ErrorCode refusal_of(const std::string& path) {
    const auto opened = open_place(path, scratch_.path());
    const auto* refused = std::get_if<wire::Refused>(&opened);
    return refused == nullptr ? ErrorCode::Internal : refused->code;
  }

  static wire::Search pattern(const std::string& text) {
    wire::Search request;
    request.pattern = text;
    return request;
  }
  wire::SearchPage search(const wire::Search& request, unsigned threads = 2) {
    auto reply = search_files(place(request.path), request, threads);
    if (const auto* refused = std::get_if<wire::Refused>(&reply)) ADD_FAILURE() << refused->why;
    return std::holds_alternative<wire::SearchPage>(reply)
               ? std::move(std::get<wire::SearchPage>(reply))
               : wire::SearchPage();
  }
  // Returns "path:line:text", for a context line with dashes.
  static std::vector<std::string> lines_of(const wire::SearchPage& page) {
    std::vector<std::string> lines;
    for (const wire::SearchedFile& file : page.files) {
      for (const wire::SearchLine& line : file.lines) {
        const std::string mark = line.is_context != 0 ? "-" : ":";
        lines.push_back(file.path + mark + std::to_string(line.line) + mark + line.text);
      }
    }
    return lines;
  }
  static std::vector<std::string> paths_of(const wire::SearchPage& page) {
    std::vector<std::string> paths;
    for (const wire::SearchedFile& file : page.files)
      paths.push_back(file.path);
    return paths;
  }

  wire::FindPage find(const wire::FindFiles& request) {
    auto reply = find_files(place(request.path), request, 2);
    if (const auto* refused = std::get_if<wire::Refused>(&reply)) ADD_FAILURE() << refused->why;
    return std::holds_alternative<wire::FindPage>(reply)
               ? std::move(std::get<wire::FindPage>(reply))
               : wire::FindPage();
  }
  wire::Listing list(const wire::ListDirectory& request) {
    auto reply = list_directory(place(request.path), request, Effort::Any);
    return reply && std::holds_alternative<wire::Listing>(*reply)
               ? std::move(std::get<wire::Listing>(*reply))
               : wire::Listing();
  }

  ScratchDirectory scratch_;
};

}  // namespace nutshell::init::search
