/** The price list as the public pages show it, and the model that their examples call. */
import { answering, useLevels } from '../../components/model-level.tsx';
import { call } from '../../lib/api.ts';
import { useOptionalRead } from '../../lib/read.ts';
import { smallModel } from '../../lib/small-model.ts';

export const usePrices = () =>
  useOptionalRead({ queryKey: ['home-prices'], queryFn: () => call('pricing.get'), staleTime: 60_000 });

export function useExampleModel(): string {
  const names = usePrices().data?.data.map(({ model_name: name }) => name) ?? [];
  return smallModel(answering(names, useLevels().data ?? {})) || 'gpt-4o-mini';
}
