/** What is done to a row: at most three buttons and a menu; on a phone the menu alone. */
import { useTranslation } from 'react-i18next';
import { useNarrow } from '../../lib/narrow.ts';
import { Icon, type IconName } from '../icon.tsx';
import { LazyMenu } from '../lazy-menu.tsx';
import type { MenuEntry } from '../menu-props.ts';

export interface RowAction extends MenuEntry {
  readonly content: string;
  /** Stands for the words, which become its name. */
  readonly icon?: IconName;
  readonly disabled?: boolean;
}

export interface RowActionsProps {
  /** The name of the row. */
  readonly name: string;
  readonly quick: readonly RowAction[];
  readonly more?: readonly MenuEntry[];
}

export function RowActions({ name, quick, more = [] }: RowActionsProps) {
  const { t } = useTranslation();
  const narrow = useNarrow();
  const items = narrow ? [...quick.filter(({ disabled }) => disabled !== true), ...more] : more;
  return (
    <span className="flex justify-end gap-0.5">
      {narrow
        ? null
        : quick.map(({ id, content, icon, disabled, onPick }, at) => (
            <button
              key={id}
              type="button"
              // Words that end the row end with the head of their column.
              className={`button button-ghost ${icon !== undefined ? 'button-icon' : `text-accent-text ${items.length === 0 && at === quick.length - 1 ? '-mr-2.5' : ''}`}`}
              aria-label={icon === undefined ? undefined : content}
              title={icon === undefined ? undefined : content}
              disabled={disabled}
              onClick={onPick}
            >
              {icon === undefined ? content : <Icon name={icon} />}
            </button>
          ))}
      {items.length === 0 ? null : (
        <LazyMenu
          anchor="bottom end"
          width="w-56"
          button={{
            className: 'button button-ghost button-icon',
            label: t('table.moreOf', { name }),
            content: <Icon name="more" />,
          }}
          items={items}
        />
      )}
    </span>
  );
}
