package drover

import (
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/drover-dev/drover/sdk/go/droverpb"
	"github.com/drover-dev/drover/sdk/go/internal/defined"
)

// Definition is a workflow as package workflow builds it. It does not change.
type Definition struct{ message *droverpb.WorkflowDefinition }

func init() {
	defined.New = func(message *droverpb.WorkflowDefinition) any { return &Definition{message} }
	defined.Message = func(of any) *droverpb.WorkflowDefinition { return of.(*Definition).message }
}

// MarshalJSON returns the JSON form of the message of the contract.
func (d *Definition) MarshalJSON() ([]byte, error) { return protojson.Marshal(d.message) }
