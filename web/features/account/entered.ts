/** What a login returns: a user, or a ticket for the second step. */
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';

export type Entered = OutputOf<EndpointOf<'session.login'>>;
