#include "compaction/own_renderers.h"

#include <gtest/gtest.h>

#include "compaction/clean.h"
#include "compaction/command_words.h"
#include "compaction/compactor.h"

namespace nutshell::compaction {
namespace {

// Reading a file runs its own tests, so one that is here has passed them.
TEST(OwnRenderers, EveryFileIsValid) {
  std::vector<std::string> names;
  for (const UserRenderer& renderer : own_renderers())
    names.push_back(renderer.name());
  EXPECT_EQ(names, (std::vector<std::string>{"ansible", "terraform-plan"}));
}

TEST(OwnRenderers, AreAskedForWhatNoParserKnows) {
  std::string output = "PLAY [web] ***************\n";
  for (int task = 0; task < 30; ++task) {
    output += "\nTASK [step " + std::to_string(task) + "] *****************\n";
    for (int host = 0; host < 10; ++host)
      output += "ok: [web" + std::to_string(host) + "]\n";
  }
  output +=
      "\nTASK [last step] **********\nfatal: [web3]: FAILED! => {\"msg\": \"no space\"}\n\n"
      "PLAY RECAP ***************\nweb3 : ok=30 changed=0 failed=1\n";
  Captured captured;
  captured.command = "ansible-playbook site.yml";
  captured.ending.outcome = Outcome::Exited;
  captured.ending.exit_code = 2;
  captured.output = output;
  captured.recall_id = "o1a2b";
  const auto rendering = render(captured, {});
  EXPECT_EQ(rendering.parser, "ansible") << rendering.reason;
  EXPECT_EQ(
      rendering.text,
      "exit 2. ansible: 300 ok, 0 changed, 1 failed. recall o1a2b (left out: 362 lines dropped)\n"
      "TASK [last step]\nfatal: [web3]: FAILED! => {\"msg\": \"no space\"}\nPLAY RECAP\n"
      "web3 : ok=30 changed=0 failed=1\n");
}

}  // namespace
}  // namespace nutshell::compaction
