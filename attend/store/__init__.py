"""Where scopes and decisions are kept: `base` is the contract, `memory` the reference, `redis` the product."""
