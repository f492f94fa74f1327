/** What is wrong now, for administrators: how many alerts are unread, what they say, and the page where each is fixed. */
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { AlertKindName } from '../../server/contract/alert-kinds.ts';
import type { OutputOf } from '../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../server/contract/endpoints/index.ts';
import { Icon } from '../components/icon.tsx';
import { Popover } from '../components/popover.tsx';
import { call } from '../lib/api.ts';
import { storedName } from '../lib/base-path.ts';
import { currentLanguage } from '../lib/i18n.ts';
import { useOptionalRead } from '../lib/read.ts';

type OpenAlert = OutputOf<EndpointOf<'alert.list'>>['alerts'][number];

const pagePaths: Readonly<Record<AlertKindName, (subject: string) => string>> = {
  channel_disabled: (id) => `/channel/edit/${id}`,
  channel_failing: (id) => `/channel/edit/${id}`,
  errors_high: (id) => `/channel/edit/${id}`,
  balance_low: (id) => `/channel/edit/${id}`,
  model_unpriced: (model) => `/pricing?q=${encodeURIComponent(model)}`,
  spend_high: () => '/log?type=2&range=1h',
  spend_unusual: () => '/log?type=2&range=1h',
  expiring: () => '/setting',
  disk_low: () => '/setting',
  commits_late: () => '/setting',
  cache_halved: (id) => `/log?channel=${id}`,
  other_model: (id) => `/log?channel=${id}`,
  defect: () => '/log?status=failed',
  relay_stalled: () => '/log?range=1h',
  budget_used: () => '/budget',
  key_frozen: () => '/log?type=2&range=1h',
  backup_missed: () => '/setting',
  statement_unsent: () => '/statement',
};

/** The page where an alert is fixed. */
export const placeOf = ({ kind, subject }: Pick<OpenAlert, 'kind' | 'subject'>): string => pagePaths[kind](subject);
const keyOf = ({ kind, subject }: OpenAlert): string => `${kind} ${subject}`;

const storeKey = storedName('seen-alerts');
const readSeen = (): readonly string[] => {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(storeKey) ?? '[]');
    return Array.isArray(stored) ? stored.map(String) : [];
  } catch {
    return [];
  }
};

/** Those that this browser has not shown; one that was over and comes back is new again. */
export const unreadOf = (alerts: readonly OpenAlert[], seen: readonly string[]): readonly OpenAlert[] =>
  alerts.filter((alert) => !seen.includes(keyOf(alert)));

interface AlertListProps {
  readonly alerts: readonly OpenAlert[];
  /** They stand on the screen. */
  readonly onSeen: () => void;
  readonly onLeave: () => void;
}

export function AlertList({ alerts, onSeen, onLeave }: AlertListProps) {
  const { t } = useTranslation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each opening
  useEffect(onSeen, []);
  if (alerts.length === 0) return <p className="px-3 py-2 text-ink-2">{t('app.noAlerts')}</p>;
  const kinds = [...new Set(alerts.map(({ kind }) => kind))].map((kind) => alerts.filter((one) => one.kind === kind));
  return (
    <ul className="max-h-[60dvh] overflow-y-auto">
      {kinds.map((same) => (
        <li key={same[0]?.kind} className="border-b border-line py-1.5 last:border-b-0">
          <p className="flex justify-between gap-2 px-3 py-0.5">
            <span className="status status-bad">{same[0]?.title}</span>
            {same.length === 1 ? null : <span className="text-ink-3">{same.length}</span>}
          </p>
          <ul>
            {same.map((alert) => (
              <li key={keyOf(alert)}>
                <Link
                  href={placeOf(alert)}
                  className="block rounded-2 px-3 py-1 text-[12px] break-words text-ink-2 -outline-offset-2 hover:bg-hover hover:text-ink-1"
                  onClick={onLeave}
                >
                  {alert.text}
                </Link>
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ul>
  );
}

export function Alerts() {
  const { t } = useTranslation();
  const [seen, setSeen] = useState(readSeen);
  const alerts = useOptionalRead({
    queryKey: ['alerts', currentLanguage()],
    queryFn: () => call('alert.list'),
    refetchInterval: 60_000,
  }).data?.alerts;
  if (alerts === undefined) return null;
  const unread = unreadOf(alerts, seen).length;
  /** What is over is forgotten with it. */
  const read = () => {
    const keys = alerts.map(keyOf);
    localStorage.setItem(storeKey, JSON.stringify(keys));
    setSeen(keys);
  };
  return (
    <Popover
      buttonClass="button button-ghost"
      label={unread === 0 ? t('app.alerts') : t('app.alertsNew', { count: unread })}
      className="w-80 max-w-[calc(100vw-16px)]"
      button={
        <>
          <Icon name="alert" />
          {unread === 0 ? null : <span className="text-[11px] font-semibold text-danger">{unread}</span>}
        </>
      }
    >
      {(close) => (
        <>
          <AlertList alerts={alerts} onSeen={read} onLeave={close} />
          <Link
            href="/alert"
            className="mt-1 block border-t border-line px-3 pt-2 pb-1 text-accent-text -outline-offset-2"
            onClick={close}
          >
            {t('alertRules.link')}
          </Link>
        </>
      )}
    </Popover>
  );
}
