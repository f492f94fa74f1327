/** Columns and density of a table. */
import { useTranslation } from 'react-i18next';
import { Icon } from '../icon.tsx';
import { Popover } from '../popover.tsx';
import { Segment } from '../segment.tsx';
import type { Column } from './column.ts';
import type { Preferences } from './preferences.ts';

export interface ViewOptionsProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly preferences: Preferences;
}

export function ViewOptions<Row>({ columns, preferences }: ViewOptionsProps<Row>) {
  const { t } = useTranslation();
  const { shown, setShown, density, setDensity } = preferences;
  const isShown = ({ id, hidden }: Column<Row>): boolean => shown[id] ?? hidden !== true;
  return (
    <Popover
      buttonClass="button max-sm:hidden"
      button={
        <>
          <Icon name="columns" />
          {t('table.columns')} {columns.filter(isShown).length}
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
                    checked={isShown(column)}
                    onChange={(event) => setShown({ ...shown, [column.id]: event.target.checked })}
                  />
                  {column.header}
                </label>
              </li>
            ))}
          </ul>
          <button type="button" className="button" onClick={() => setShown({})}>
            {t('table.reset')}
          </button>
        </>
      )}
    </Popover>
  );
}
