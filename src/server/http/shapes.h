// The shapes of the API's requests and answers.
#pragma once

#include "server/http/shape.h"

namespace nutshell::server {

// The shapes of nouns are shape_of<Noun, Direction>(); those with more than a noun are below.
const Shape& problem_shape();

const Shape& sandbox_page_shape();
const Shape& extend_shape();
const Shape& protections_shape();

const Shape& exec_shape();
const Shape& exec_result_shape();
const Shape& exec_state_shape();
const Shape& signal_shape();

const Shape& file_shape();
const Shape& directory_shape();
const Shape& changes_shape();
const Shape& checkpoint_shape();
const Shape& apply_shape();

const Shape& session_page_shape();
const Shape& lease_shape();

const Shape& acquire_shape();
const Shape& pools_shape();

const Shape& batch_shape();
const Shape& batch_results_shape();

const Shape& audit_page_shape();
const Shape& history_shape();

}  // namespace nutshell::server
