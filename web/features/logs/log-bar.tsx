/** What narrows the log. */
import { useTranslation } from 'react-i18next';
import { FilterBar } from '../../components/filter-bar.tsx';
import { CheckBox } from '../../components/filters.tsx';
import { RangeControl } from '../../components/range-control.tsx';
import { Segment } from '../../components/segment.tsx';
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
  return (
    <>
      <FilterBar
        filters={[
          { name: 'model', label: t('logs.model') },
          { name: 'token', label: t('logs.token') },
          ...(admin ? [{ name: 'user', label: t('logs.user') }] : []),
          ...(admin ? [{ name: 'channel', label: t('logs.channelId') }] : []),
          { name: 'group', label: t('logs.group') },
          { name: 'request', label: t('logs.requestId') },
        ]}
      >
        <Segment
          label={t('logs.type')}
          value={String(type)}
          options={[['0', t('logs.all')], ...kinds.map((kind) => [String(kind), t(`logs.t${kind}`)] as const)]}
          onChange={(value) => url.set('type', value === '0' ? '' : value)}
        />
        <RangeControl usual="all" />
      </FilterBar>
      <CheckBox
        className="flex items-center gap-1.5 text-[12px] text-ink-2"
        label={t('logs.live')}
        checked={url.get('live') !== 'off'}
        onChange={(on) => url.set('live', on ? '' : 'off')}
      />
    </>
  );
}
