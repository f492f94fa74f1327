/** The price list as the public pages show it. */
import { call } from '../../lib/api.ts';
import { useOptionalRead } from '../../lib/read.ts';

export const usePrices = () =>
  useOptionalRead({ queryKey: ['home-prices'], queryFn: () => call('pricing.get'), staleTime: 60_000 });
