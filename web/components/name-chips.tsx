/** Names as chips in one field: typed or pasted, taken away one by one. */
import type { ComponentProps, ReactNode } from 'react';
import { Icon } from './icon.tsx';

export interface NameChipsProps
  extends Pick<ComponentProps<'input'>, 'id' | 'placeholder' | 'aria-describedby' | 'onPaste'> {
  readonly names: readonly string[];
  /** The label of the list of chips. */
  readonly label: string;
  readonly removeLabel: (name: string) => string;
  readonly typed: string;
  readonly onType: (text: string) => void;
  /** What is typed becomes a chip, or several. */
  readonly onTake: () => void;
  /** Typed text need not be the beginning of a known name: it is taken when the field loses the focus. */
  readonly takesOnBlur: boolean;
  readonly onRemove: (name: string) => void;
  /** The form is held back here. */
  readonly unreadable?: boolean;
  readonly className?: string;
  /** Behind what is typed. */
  readonly children?: ReactNode;
}

export function NameChips(props: NameChipsProps) {
  const { names, label, removeLabel, typed, onType, onTake, takesOnBlur, onRemove, unreadable, className, children } =
    props;
  const { id, placeholder, onPaste } = props;
  return (
    <div className={`field h-auto! min-h-8 max-sm:min-h-11 flex-wrap items-center gap-1 py-1 ${className ?? 'flex'}`}>
      {names.length === 0 ? null : (
        <ul className="contents" aria-label={label}>
          {names.map((name) => (
            <li
              key={name}
              className="inline-flex min-h-6 max-w-full items-center gap-1 rounded-1 bg-accent-soft pl-1.5 font-mono text-[12px] text-accent-text"
            >
              <span className="truncate">{name}</span>
              <button
                type="button"
                className="grid size-6 place-items-center"
                aria-label={removeLabel(name)}
                onClick={() => onRemove(name)}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
      )}
      <input
        id={id}
        className="min-w-24 flex-1 bg-transparent outline-none"
        autoComplete="off"
        spellCheck={false}
        placeholder={placeholder}
        aria-describedby={props['aria-describedby']}
        data-unreadable={unreadable || undefined}
        value={typed}
        onChange={(event) => onType(event.target.value)}
        onPaste={onPaste}
        onBlur={() => {
          if (typed.trim() !== '' && takesOnBlur) onTake();
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && typed.trim() !== '') {
            event.preventDefault();
            onTake();
          }
          if (event.key === 'Backspace' && typed === '' && names.length > 0) onRemove(names.at(-1) ?? '');
        }}
      />
      {children}
    </div>
  );
}
