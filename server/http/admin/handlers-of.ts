/** The type of a set of handlers: one for each endpoint named, which returns what the endpoint says it answers. */
import type { InputOf, OutputOf } from '../../contract/endpoint.ts';
import type { EndpointId, EndpointOf } from '../../contract/endpoints/index.ts';
import type { Call } from '../call.ts';

/** An answer is only read from here on. */
type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T;

export type HandlersOf<Ids extends EndpointId> = {
  readonly [Id in Ids]: (call: Call<InputOf<EndpointOf<Id>>>) => Promise<DeepReadonly<OutputOf<EndpointOf<Id>>>>;
};
