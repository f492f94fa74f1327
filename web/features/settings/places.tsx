/** The index of the settings: at the left of a wide page, a row above a narrower one, two lists on a phone. */
import { useTranslation } from 'react-i18next';
import { Select } from '../../components/select.tsx';
import { useNarrow, useWide } from '../../lib/narrow.ts';

export const tabs = ['operation', 'ratelimit', 'models', 'system', 'other'] as const;
export type Tab = (typeof tabs)[number];
export type Place = Tab | 'prices';

export const anchorOf = (panel: string): string => `settings-${panel}`;

export interface PlacesProps {
  /** null = what is shown is of all of them. */
  readonly place: Place | null;
  readonly panels: readonly string[];
  readonly onlyChanged: boolean;
  readonly onGo: (place: Place) => void;
  /** On a phone it stands among the places. */
  readonly onOnlyChanged: () => void;
  readonly onJump: (panel: string) => void;
}

export function Places({ place, panels, onlyChanged, onGo, onOnlyChanged, onJump }: PlacesProps) {
  const { t } = useTranslation();
  const narrow = useNarrow();
  const wide = useWide();
  const names: readonly (readonly [Place, string])[] = [
    ...tabs.map((name) => [name, t(`settings.tab.${name}`)] as const),
    ['prices', t('settings.panel.pricing')],
  ];
  const sections = panels.map((panel) => [panel, t(`settings.panel.${panel as 'login'}`)] as const);
  const jumps =
    sections.length < 2 ? null : (
      <Select
        className={narrow ? 'field h-9! min-w-0 flex-1' : 'button ml-auto font-normal'}
        label={t('settings.title')}
        value={t('settings.section')}
        options={sections}
        onChange={onJump}
      />
    );
  if (narrow)
    return (
      <div className="flex gap-2 px-5 pb-3">
        <Select<Place | '' | 'changed'>
          className="field h-9! min-w-0 flex-1"
          label={t('settings.title')}
          value={onlyChanged ? 'changed' : (place ?? '')}
          options={[
            ...(place === null && !onlyChanged ? [['', t('settings.everywhere')] as const] : []),
            ...names,
            ['changed', t('settings.onlyChanged')] as const,
          ]}
          onChange={(name) => {
            if (name === 'changed') onOnlyChanged();
            else if (name !== '') onGo(name);
          }}
        />
        {jumps}
      </div>
    );
  const item = ([name, text]: readonly [Place, string]) => (
    <button
      type="button"
      aria-current={name === place ? 'page' : undefined}
      className={`flex w-full items-center whitespace-nowrap ${
        wide
          ? `min-h-7 rounded-2 px-2 text-left ${name === place ? 'bg-press font-medium text-ink-1' : 'text-ink-2 hover:bg-hover'}`
          : `h-9 border-b-2 ${name === place ? 'border-accent font-medium text-ink-1' : 'border-transparent text-ink-2'}`
      }`}
      onClick={() => onGo(name)}
    >
      {text}
    </button>
  );
  const list = (some: readonly (readonly [Place, string])[], className: string) => (
    <ul className={className}>
      {some.map((one) => (
        <li key={one[0]}>
          {item(one)}
          {wide && one[0] === place && sections.length > 1 ? (
            <ul className="my-1 ml-2 border-l border-line pl-1">
              {sections.map(([panel, text]) => (
                <li key={panel}>
                  <a
                    href={`#${anchorOf(panel)}`}
                    className="flex min-h-6 items-center rounded-2 px-2 text-[12px] text-ink-2 hover:bg-hover"
                    onClick={(event) => {
                      event.preventDefault();
                      onJump(panel);
                    }}
                  >
                    {text}
                  </a>
                </li>
              ))}
            </ul>
          ) : null}
        </li>
      ))}
    </ul>
  );
  if (wide)
    return (
      <nav
        aria-label={t('settings.title')}
        className="sticky top-0 max-h-[calc(100dvh-48px)] w-44 flex-none self-start overflow-auto pb-4 pl-3"
      >
        {list(names.slice(0, tabs.length), '')}
        {list(names.slice(tabs.length), 'mt-2 border-t border-line pt-2')}
      </nav>
    );
  return (
    <nav
      aria-label={t('settings.title')}
      className="sticky top-0 z-10 mb-4 flex items-center gap-4 border-b border-line bg-surface px-5"
    >
      {list(names.slice(0, tabs.length), 'flex gap-4')}
      {list(names.slice(tabs.length), 'flex border-l border-line pl-4')}
      {jumps}
    </nav>
  );
}
