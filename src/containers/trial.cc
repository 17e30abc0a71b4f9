#include "containers/trial.h"

#include "wire/init_client.h"

namespace nutshell::containers {

Result<> try_sandbox(Backend& backend, const SandboxSpec& spec) {
  const std::string id = TRY(backend.start(spec, Lifetime::WithCaller));
  auto stream = backend.connect(id);
  auto tried = stream ? wire::InitClient(std::move(*stream)).ping() : Failure(stream.error());
  TRY(backend.stop(id));
  return tried;
}

Protection trial_row(const Result<>& tried, std::string by) {
  if (tried) return {"sandbox", Strength::Hard, std::move(by), ""};
  return {"sandbox", Strength::Missing, std::move(by), tried.error().message};
}

}  // namespace nutshell::containers
