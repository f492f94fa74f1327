/** How many rows there are over time and of each kind, as the server counts them. */
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import { call } from '../../lib/api.ts';
import { useOptionalRead } from '../../lib/read.ts';
import type { LogFilters } from './use-logs.ts';

export type Counts = OutputOf<EndpointOf<'log.facets'>>;

export interface CountsOptions {
  readonly admin: boolean;
  readonly filters: LogFilters;
  /** Milliseconds; false = they hold still. */
  readonly refetchInterval: number | false;
}

export const useCounts = ({ admin, filters, refetchInterval }: CountsOptions): Counts | undefined =>
  useOptionalRead({
    queryKey: ['log-counts', admin, filters],
    queryFn: () => call(admin ? 'log.facets' : 'log.self_facets', filters),
    refetchInterval,
    placeholderData: (last: Counts | undefined) => last,
  }).data;
