// Package defined lets package workflow make definitions, and tests look into them, although their
// content is hidden in package drover.
package defined

import "github.com/drover-dev/drover/sdk/go/droverpb"

// New makes a *drover.Definition.
var New func(*droverpb.WorkflowDefinition) any

// Message returns the message of a *drover.Definition.
var Message func(of any) *droverpb.WorkflowDefinition
