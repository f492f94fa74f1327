/** What the question before a deletion says: keys that are bound to the channels never fall back to others. */
import { useTranslation } from 'react-i18next';
import { call } from '../../lib/api.ts';
import { useOptionalRead } from '../../lib/read.ts';

/** Keys that are named. */
const maxNamed = 5;

/** @param ids of the channels; 'disabled' = all that are; none = nothing is being asked. */
export function useDeleteText(ids: readonly number[] | 'disabled', text: string): string {
  const { t } = useTranslation();
  const input = ids === 'disabled' ? { disabled: true } : { channels: ids.join(',') };
  const keys =
    useOptionalRead({
      queryKey: ['bound-keys', ids === 'disabled' ? ids : ids.join(',')],
      queryFn: () => call('token.bound', input),
      enabled: ids.length > 0,
      staleTime: 0,
    }).data ?? [];
  if (keys.length === 0) return text;
  const names = keys.slice(0, maxNamed).map(({ name }) => name);
  const stopped = keys.filter(({ others }) => others.length === 0).length;
  const bound = t('channels.boundKeys', {
    count: keys.length,
    names: [...names, ...(keys.length > maxNamed ? ['…'] : [])].join(', '),
    stopped,
  });
  return `${bound} ${text}`;
}
