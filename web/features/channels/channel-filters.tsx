/** What narrows the list of channels, and how it is laid out. */
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import { CheckBox, FilterSelect, SearchField } from '../../components/filters.tsx';
import { Segment } from '../../components/segment.tsx';
import { trafficStates } from './traffic.ts';
import { type Channels, typeName } from './use-channels.ts';

const toggle = 'flex items-center gap-1.5 text-[12px] text-ink-2';

export function ChannelFilters({ state }: { readonly state: Channels }) {
  const { t } = useTranslation();
  const [, navigate] = useLocation();
  const { url, types } = state;
  const select = (name: string, label: string, options: readonly (readonly [string, string])[]) => (
    <FilterSelect label={label} value={url.get(name)} options={options} onChange={(value) => url.set(name, value)} />
  );
  const present = [...new Set((state.all ?? []).map((channel) => channel.type))];
  return (
    <>
      <SearchField
        slash
        className="h-7 w-48"
        label={t('channels.search')}
        value={url.get('q')}
        onChange={(value) => url.set('q', value)}
      />
      {select(
        'group',
        t('channels.group'),
        state.groups.map((name) => [name, name]),
      )}
      <SearchField
        type="text"
        className="h-7 w-32"
        label={t('channels.model')}
        value={url.get('model')}
        onChange={(value) => url.set('model', value)}
      />
      {select('status', t('channels.status'), [
        ['1', t('channels.s1')],
        ['2', t('channels.s2')],
        ['3', t('channels.s3')],
        ...trafficStates.map((one) => [one, t(`channels.state.${one}`)] as const),
      ])}
      {select(
        'type',
        t('channels.type'),
        present.map((one) => [String(one), typeName(types, one)]),
      )}
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
      {state.filtered ? (
        <button type="button" className="button button-ghost" onClick={() => navigate('/channel')}>
          {t('channels.clear')}
        </button>
      ) : null}
    </>
  );
}
