/** Columns and density of a table. */
import { useTranslation } from 'react-i18next';
import { useRoom } from '../../lib/narrow.ts';
import { Icon } from '../icon.tsx';
import { Popover } from '../popover.tsx';
import { Segment } from '../segment.tsx';
import { type Column, isShown } from './column.ts';
import type { Preferences } from './preferences.ts';

export interface ViewOptionsProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly preferences: Preferences;
}

export function ViewOptions<Row>({ columns, preferences }: ViewOptionsProps<Row>) {
  const { t } = useTranslation();
  const { visible, setVisible, density, setDensity } = preferences;
  const room = useRoom();
  const isOn = (column: Column<Row>): boolean => isShown(column, visible, room);
  return (
    <Popover
      buttonClass="button max-sm:hidden"
      button={
        <>
          <Icon name="columns" />
          <span className="max-lg:sr-only">{t('table.columns')}</span> {columns.filter(isOn).length}
        </>
      }
      className="grid w-56 gap-2 p-3"
    >
      {() => (
        <>
          <Segment
            label={t('table.density')}
            value={density}
            options={[
              ['compact', t('table.compact')],
              ['roomy', t('table.roomy')],
            ]}
            onChange={setDensity}
          />
          <ul className="max-h-72 overflow-auto">
            {columns.map((column) => (
              <li key={column.id}>
                <label className="flex h-7 items-center gap-2">
                  <input
                    type="checkbox"
                    className="size-4 accent-(--accent)"
                    checked={isOn(column)}
                    onChange={(event) => setVisible({ ...visible, [column.id]: event.target.checked })}
                  />
                  {column.header}
                </label>
              </li>
            ))}
          </ul>
          <button type="button" className="button" onClick={() => setVisible({})}>
            {t('table.reset')}
          </button>
        </>
      )}
    </Popover>
  );
}
