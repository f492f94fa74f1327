/** What narrows the log. */
import { useTranslation } from 'react-i18next';
import { CheckBox, SearchField } from '../../components/filters.tsx';
import type { Url } from '../../lib/url.ts';

const kinds = [1, 2, 3, 4, 5] as const;

export interface LogBarProps {
  readonly url: Url;
  readonly admin: boolean;
  /** 0 = every kind. */
  readonly type: number;
}

export function LogBar({ url, admin, type }: LogBarProps) {
  const { t } = useTranslation();
  const field = (name: string, label: string, kind: 'search' | 'datetime-local' = 'search') => (
    <SearchField
      type={kind}
      className={`h-7 ${kind === 'search' ? 'w-32' : 'w-44'}`}
      label={label}
      value={url.get(name)}
      onChange={(value) => url.set(name, value)}
    />
  );
  return (
    <>
      <select
        className="field h-7 w-auto"
        aria-label={t('logs.type')}
        value={type}
        onChange={(event) => url.set('type', event.target.value === '0' ? '' : event.target.value)}
      >
        <option value={0}>{t('logs.all')}</option>
        {kinds.map((kind) => (
          <option key={kind} value={kind}>
            {t(`logs.t${kind}`)}
          </option>
        ))}
      </select>
      {field('model', t('logs.model'))}
      {field('token', t('logs.token'))}
      {admin ? field('user', t('logs.user')) : null}
      {admin ? field('channel', t('logs.channelId')) : null}
      {field('group', t('logs.group'))}
      {field('request', t('logs.requestId'))}
      {field('from', t('logs.from'), 'datetime-local')}
      {field('to', t('logs.to'), 'datetime-local')}
      <CheckBox
        className="flex items-center gap-1.5 text-[12px] text-ink-2"
        label={t('logs.live')}
        checked={url.get('live') !== 'off'}
        onChange={(on) => url.set('live', on ? '' : 'off')}
      />
    </>
  );
}
