/** How a model of the price list did in the last two hours, as everybody may see it. */
import { useTranslation } from 'react-i18next';
import type { OutputOf } from '../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../server/contract/endpoints/index.ts';
import { call } from '../lib/api.ts';
import { useOptionalRead } from '../lib/read.ts';

export type Level = OutputOf<EndpointOf<'status.models'>>[string];
/** By model. */
export type Levels = Readonly<Record<string, Level>>;

const classes: Readonly<Record<Level, string>> = {
  none: 'status status-off',
  good: 'status',
  slow: 'status status-wait',
  poor: 'status status-wait',
  bad: 'status status-bad',
};
/** Best first. */
export const levelRank: Readonly<Record<Level, number>> = { good: 0, slow: 1, poor: 2, bad: 3, none: 4 };

export const useLevels = (enabled = true) =>
  useOptionalRead({
    queryKey: ['model-levels'],
    queryFn: () => call('status.models'),
    enabled,
    refetchInterval: 60_000,
  });

/** Those that answer; all of them where none does. */
export function answering(models: readonly string[], levels: Levels): readonly string[] {
  const found = models.filter((name) => levels[name] !== 'bad');
  return found.length === 0 ? models : found;
}

export function ModelLevel({ level }: { readonly level: Level }) {
  const { t } = useTranslation();
  return <span className={classes[level]}>{t(`site.level_${level}`)}</span>;
}
