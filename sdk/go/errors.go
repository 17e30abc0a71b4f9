package nutshell

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrorCode is a stable word for what went wrong: those of the API, and two of this package.
type ErrorCode string

const (
	// CodeClosed means that an object was used after it was closed.
	CodeClosed ErrorCode = "closed"
	// CodeCommandFailed means that a command with Check did not exit with 0.
	CodeCommandFailed ErrorCode = "command_failed"
)

// Error is every failure of this package. Compare it by its code:
//
//	errors.Is(err, nutshell.ErrNotFound)
type Error struct {
	Code    ErrorCode
	Message string
	// Status is the daemon's, or 0 if it did not answer.
	Status int
	// Err is the cause, if there is one.
	Err error
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%s)", e.Message, e.Code) }

// Unwrap gives the cause, such as context.Canceled.
func (e *Error) Unwrap() error { return e.Err }

// Is compares codes with an error that has nothing else, such as ErrNotFound.
func (e *Error) Is(target error) bool {
	other, is := target.(*Error)
	return is && other.Message == "" && other.Code == e.Code
}

// Retryable tells whether the same call may succeed later.
func (e *Error) Retryable() bool {
	return e.Code == "resource_exhausted" || e.Code == "deadline_exceeded" || e.Code == "unavailable"
}

// ErrClosed and ErrCommandFailed compare with errors of this package; the generated ones with those of the API.
var (
	ErrClosed        = &Error{Code: CodeClosed}
	ErrCommandFailed = &Error{Code: CodeCommandFailed}
)

// CommandFailedError tells that a command with Check did not exit with 0.
type CommandFailedError struct {
	Result *ExecResult
}

func (e *CommandFailedError) Error() string {
	last := strings.TrimSpace(e.Result.Stderr)
	if last == "" {
		last = strings.TrimSpace(e.Result.Stdout)
	}
	if last != "" {
		last = ": " + last[max(0, len(last)-300):]
	}
	return fmt.Sprintf("the command failed (%s)%s (%s)", e.Result.Ending(), last, CodeCommandFailed)
}

// Is compares with ErrCommandFailed.
func (e *CommandFailedError) Is(target error) bool { return target == error(ErrCommandFailed) }

func failure(code ErrorCode, format string, values ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, values...)}
}

// failureOf makes an error of what a call to the daemon returned.
func failureOf(ctx context.Context, operation string, err error) error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	if cause := context.Cause(ctx); cause != nil {
		if errors.As(cause, &known) {
			return known
		}
		code := ErrorCode("cancelled")
		if errors.Is(cause, context.DeadlineExceeded) {
			code = "deadline_exceeded"
		}
		return &Error{Code: code, Message: operation + ": " + cause.Error(), Err: cause}
	}
	return &Error{Code: "unavailable", Message: operation + ": the connection to the daemon broke: " + err.Error(), Err: err}
}
