/** What narrows the list of channels, and how it is laid out. */
import { useTranslation } from 'react-i18next';
import { trafficStates } from '../../components/channel-traffic.ts';
import { FilterBar } from '../../components/filter-bar.tsx';
import { CheckBox, SearchField } from '../../components/filters.tsx';
import { Segment } from '../../components/segment.tsx';
import { type Channels, typeName } from './use-channels.ts';

const statuses = ['1', '2', '3'] as const;
const toggle = 'flex items-center gap-1.5 text-[12px] text-ink-2';

export function ChannelFilters({ state }: { readonly state: Channels }) {
  const { t } = useTranslation();
  const { url, types } = state;
  const present = [...new Set((state.all ?? []).map((channel) => channel.type))];
  return (
    <>
      <FilterBar
        filters={[
          { name: 'group', label: t('channels.group'), options: state.groups.map((name) => [name, name]) },
          { name: 'model', label: t('channels.model') },
          {
            name: 'status',
            label: t('channels.status'),
            options: [
              ...statuses.map((one) => [one, t(`channels.s${one}`)] as const),
              ...trafficStates.map((one) => [one, t(`channels.state.${one}`)] as const),
            ],
          },
          {
            name: 'type',
            label: t('channels.type'),
            options: present.map((one) => [String(one), typeName(types, one)]),
          },
        ]}
      >
        <SearchField
          slash
          className="h-7 w-48"
          label={t('channels.search')}
          value={url.get('q')}
          onChange={(value) => url.set('q', value)}
        />
      </FilterBar>
      <span className="flex items-center gap-2 max-sm:basis-full">
        <CheckBox className={toggle} label={t('channels.idSort')} checked={state.idSort} onChange={state.setIdSort} />
        <CheckBox
          className={toggle}
          label={t('channels.tagMode')}
          checked={state.tagMode}
          onChange={(on) => url.set('mode', on ? 'tag' : '')}
        />
        {state.tagMode ? null : (
          <Segment
            label={t('channels.range')}
            value={state.range}
            options={[
              ['24h', t('channels.day')],
              ['7d', t('channels.week')],
            ]}
            onChange={(range) => url.set('range', range === '24h' ? '' : range)}
          />
        )}
      </span>
    </>
  );
}
