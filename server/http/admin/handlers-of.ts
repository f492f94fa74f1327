/** The type of a set of handlers: one for each endpoint named. */
import type { InputOf } from '../../contract/endpoint.ts';
import type { EndpointId, EndpointOf } from '../../contract/endpoints/index.ts';
import type { Call } from '../call.ts';

export type HandlersOf<Ids extends EndpointId> = {
  readonly [Id in Ids]: (call: Call<InputOf<EndpointOf<Id>>>) => Promise<unknown>;
};
