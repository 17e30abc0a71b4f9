package nutshell

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// longestCall is the longest time that a tool may wait for its command.
const longestCall = 3700 * time.Second

// ToolDescription is a tool, as a model learns of it.
type ToolDescription struct {
	Name, Description string
	// InputSchema is the JSON schema of its arguments.
	InputSchema json.RawMessage
	ReadsOnly   bool
}

// ToolError tells what failed, why, and what to do.
type ToolError struct {
	Code string `json:"code"`
	What string `json:"what"`
	Why  string `json:"why"`
	Next string `json:"next"`
}

// ToolResult is what a tool answered. Text is what a model reads, also when the tool refused.
type ToolResult struct {
	ToolAnswer
	Refusal *ToolError
}

// Check gives an error if the tool refused.
func (r *ToolResult) Check() error {
	if r.Refusal == nil {
		return nil
	}
	lines := slices.DeleteFunc([]string{r.Refusal.What, r.Refusal.Why, r.Refusal.Next}, func(line string) bool { return line == "" })
	return failure(ErrorCode(r.Refusal.Code), "%s", strings.Join(lines, "\n"))
}

// Tools of a sandbox. Each is a method, too.
type Tools struct {
	sandbox *Sandbox
}

// Call calls a tool by its name. The arguments are a struct, a map, or the JSON text that a model wrote.
func (t *Tools) Call(ctx context.Context, name string, arguments any) (*ToolResult, error) {
	switch given := arguments.(type) {
	case nil:
		arguments = struct{}{}
	case string:
		if given == "" {
			given = "{}"
		}
		arguments = json.RawMessage(given)
	}
	if text, is := arguments.(json.RawMessage); is && !json.Valid(text) {
		return nil, failure("invalid_argument", "the arguments of the tool are no JSON")
	}
	request := call{path: map[string]string{"tool": name}, json: arguments, timeout: longestCall}
	result := &ToolResult{}
	if err := t.sandbox.json(ctx, "callTool", request, &result.ToolAnswer); err != nil {
		return nil, err
	}
	if result.IsError {
		result.Refusal = &ToolError{}
		if err := json.Unmarshal(result.Error, result.Refusal); err != nil {
			return nil, &Error{Code: "corrupt", Message: "the daemon's answer of a tool is malformed", Err: err}
		}
	}
	return result, nil
}

// SchemaOptions choose tools.
type SchemaOptions struct {
	// Only these tools.
	Only []string
	// ReadOnly leaves out tools that change something.
	ReadOnly bool
}

// ToolDescriptions are the tools that this package knows. They need no daemon.
func ToolDescriptions(options *SchemaOptions) []ToolDescription {
	if options == nil {
		options = &SchemaOptions{}
	}
	var found []ToolDescription
	for _, tool := range toolCatalogue {
		isChosen := len(options.Only) == 0 || slices.Contains(options.Only, tool.Name)
		if isChosen && (tool.ReadsOnly || !options.ReadOnly) {
			found = append(found, tool)
		}
	}
	return found
}

func described(options *SchemaOptions, one func(ToolDescription) map[string]any) []map[string]any {
	found := []map[string]any{}
	for _, tool := range ToolDescriptions(options) {
		found = append(found, one(tool))
	}
	return found
}

// ForOpenAI are the tools for chat completions.
func (t *Tools) ForOpenAI(options *SchemaOptions) []map[string]any {
	return described(options, func(tool ToolDescription) map[string]any {
		return map[string]any{"type": "function", "function": map[string]any{
			"name": tool.Name, "description": tool.Description, "parameters": tool.InputSchema}}
	})
}

// ForOpenAIResponses are the tools for the Responses API.
func (t *Tools) ForOpenAIResponses(options *SchemaOptions) []map[string]any {
	return described(options, func(tool ToolDescription) map[string]any {
		return map[string]any{"type": "function", "name": tool.Name, "description": tool.Description,
			"parameters": tool.InputSchema, "strict": false}
	})
}

// ForAnthropic are the tools for the Messages API.
func (t *Tools) ForAnthropic(options *SchemaOptions) []map[string]any {
	return described(options, func(tool ToolDescription) map[string]any {
		return map[string]any{"name": tool.Name, "description": tool.Description, "input_schema": tool.InputSchema}
	})
}

// ForGemini are the tools for Gemini, which takes no additionalProperties.
func (t *Tools) ForGemini(options *SchemaOptions) []map[string]any {
	return []map[string]any{{"functionDeclarations": described(options, func(tool ToolDescription) map[string]any {
		var schema any
		_ = json.Unmarshal(tool.InputSchema, &schema) // generated from JSON
		return map[string]any{"name": tool.Name, "description": tool.Description, "parameters": withoutAdditional(schema)}
	})}}
}

func withoutAdditional(schema any) any {
	switch known := schema.(type) {
	case []any:
		for i := range known {
			known[i] = withoutAdditional(known[i])
		}
	case map[string]any:
		delete(known, "additionalProperties")
		for key := range known {
			known[key] = withoutAdditional(known[key])
		}
	}
	return schema
}

// Ptr makes a pointer, for optional arguments of tools.
func Ptr[T any](value T) *T { return &value }
