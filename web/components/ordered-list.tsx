/** Things whose order counts: dragged by a handle, or moved by buttons that keep the focus. */
import { type PointerEvent, type ReactNode, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { useTranslation } from 'react-i18next';
import { Icon } from './icon.tsx';

export interface OrderedItem {
  /** Stays with the item wherever it goes. */
  readonly key: number;
}

export interface OrderedListProps<Item extends OrderedItem> {
  readonly label: string;
  readonly items: readonly Item[];
  /** What the buttons of an item call it. */
  readonly nameOf: (item: Item, at: number) => string;
  readonly onChange: (items: readonly Item[]) => void;
  readonly children: (item: Item, at: number) => ReactNode;
}

/** @returns the items with one of them at another place. */
export function movedTo<Item>(items: readonly Item[], from: number, to: number): readonly Item[] {
  const others = items.filter((_, at) => at !== from);
  return [...others.slice(0, to), ...items.slice(from, from + 1), ...others.slice(to)];
}

interface Drag {
  readonly from: number;
  readonly to: number;
}

const dropClass = (drag: Drag | null, at: number): string => {
  if (drag === null) return '';
  if (at === drag.from) return 'opacity-60';
  if (at !== drag.to) return '';
  return drag.to < drag.from ? 'shadow-[0_-2px_0_0_var(--accent)]' : 'shadow-[0_2px_0_0_var(--accent)]';
};

export function OrderedList<Item extends OrderedItem>(props: OrderedListProps<Item>) {
  const { label, items, nameOf, onChange, children } = props;
  const { t } = useTranslation();
  const list = useRef<HTMLOListElement>(null);
  const [drag, setDrag] = useState<Drag | null>(null);
  const [said, setSaid] = useState('');

  const move = (from: number, to: number) => {
    if (to === from) return;
    const item = items[from];
    onChange(movedTo(items, from, to));
    if (item !== undefined)
      setSaid(t('table.movedTo', { name: nameOf(item, from), place: to + 1, total: items.length }));
  };
  const step = (from: number, by: -1 | 1) => {
    flushSync(() => move(from, from + by));
    const row = list.current?.children[from + by];
    const buttons = [...(row?.querySelectorAll<HTMLButtonElement>('[data-move]') ?? [])];
    const pressed = by < 0 ? buttons[0] : buttons[1];
    // At an end the button is off: its neighbor takes the focus.
    (pressed?.disabled === true ? buttons.find(({ disabled }) => !disabled) : pressed)?.focus();
  };

  /** The items move when the pointer lets go: a handle that moves in the document would lose the pointer. */
  const placeAt = (y: number, from: number): number =>
    [...(list.current?.children ?? [])].filter((row, at) => {
      const { top, height } = row.getBoundingClientRect();
      return at !== from && top + height / 2 < y;
    }).length;
  const begin = (event: PointerEvent, from: number) => {
    if (event.button !== 0) return;
    event.preventDefault();
    event.currentTarget.setPointerCapture(event.pointerId);
    setDrag({ from, to: from });
  };
  const drop = () => {
    if (drag !== null) move(drag.from, drag.to);
    setDrag(null);
  };

  return (
    <>
      <ol ref={list} aria-label={label} className="grid grid-cols-[minmax(0,1fr)] gap-2">
        {items.map((item, at) => {
          const name = `${at + 1}. ${nameOf(item, at)}`;
          const button = (by: -1 | 1, icon: 'up' | 'down', text: string, isEnd: boolean) => (
            <button
              type="button"
              data-move={icon}
              className="button button-ghost button-icon"
              aria-label={text}
              title={text}
              disabled={isEnd}
              onClick={() => step(at, by)}
            >
              <Icon name={icon} />
            </button>
          );
          return (
            <li key={item.key} className={`rounded-2 border border-line p-3 ${dropClass(drag, at)}`}>
              <div className="mb-2 flex items-center gap-1">
                <span
                  aria-hidden="true"
                  data-handle
                  className={`-ml-1.5 grid size-8 flex-none touch-none place-items-center text-ink-3 max-sm:size-11 ${drag === null ? 'cursor-grab' : 'cursor-grabbing'}`}
                  onPointerDown={(event) => begin(event, at)}
                  onPointerMove={({ clientY }) => {
                    if (drag === null) return;
                    const to = placeAt(clientY, drag.from);
                    if (to !== drag.to) list.current?.children[to]?.scrollIntoView({ block: 'nearest' });
                    setDrag({ ...drag, to });
                  }}
                  onPointerUp={drop}
                  onPointerCancel={() => setDrag(null)}
                >
                  <Icon name="grip" />
                </span>
                <span className="mr-auto min-w-0 truncate font-medium">{name}</span>
                {button(-1, 'up', t('table.moveUp', { name }), at === 0)}
                {button(1, 'down', t('table.moveDown', { name }), at === items.length - 1)}
                <button
                  type="button"
                  className="button button-ghost button-icon"
                  aria-label={t('table.removeItem', { name })}
                  title={t('table.removeItem', { name })}
                  onClick={() => {
                    flushSync(() => onChange(items.filter(({ key }) => key !== item.key)));
                    const left = list.current?.children[Math.min(at, items.length - 2)];
                    left?.querySelector<HTMLElement>('button:not(:disabled)')?.focus();
                  }}
                  disabled={items.length === 1}
                >
                  <Icon name="trash" />
                </button>
              </div>
              {children(item, at)}
            </li>
          );
        })}
      </ol>
      <p role="status" className="sr-only">
        {said}
      </p>
    </>
  );
}
