/** One step of the way to the first answer: folded where it is done, faint where it is not its turn. */
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Icon } from '../../components/icon.tsx';

export type StepState = 'done' | 'open' | 'later';

export interface StepProps {
  readonly state: StepState;
  /** Its contents are shown; where it is its turn without saying. */
  readonly open?: boolean;
  readonly title: string;
  /** In the title's line. */
  readonly note?: ReactNode;
  /** At the end of that line. */
  readonly action?: ReactNode;
  readonly children?: ReactNode;
}

export function Step({ state, open = state === 'open', title, note, action, children }: StepProps) {
  const { t } = useTranslation();
  const className =
    state === 'done'
      ? 'inline-flex items-center gap-1.5'
      : state === 'open'
        ? 'status status-wait'
        : 'status status-off';
  return (
    <li
      aria-current={state === 'open' ? 'step' : undefined}
      className={`rounded-3 border bg-surface px-4 py-3 ${open ? 'border-accent' : 'border-line-strong'}`}
    >
      <div className="flex items-center gap-3 max-sm:flex-wrap max-sm:gap-x-1.5">
        <h2 className={`${className} ${state === 'later' ? 'font-normal' : 'font-medium'} text-ink-1`}>
          {state === 'done' ? (
            <span className="-ml-1 text-success">
              <Icon name="check" />
            </span>
          ) : null}
          {title}
          <span className="sr-only">{t(state === 'done' ? 'setup.doneMark' : `setup.${state}`)}</span>
        </h2>
        <div className={`min-w-0 flex-1 break-words text-ink-2 ${action === undefined ? 'basis-40' : ''}`}>{note}</div>
        {action}
      </div>
      {!open || children === undefined ? null : <div className="mt-3">{children}</div>}
    </li>
  );
}

export interface StepsProps {
  readonly title: string;
  readonly states: readonly StepState[];
  readonly children: ReactNode;
}

export function Steps({ title, states, children }: StepsProps) {
  const { t } = useTranslation();
  const done = states.filter((state) => state === 'done').length;
  return (
    <div className="mx-auto w-full max-w-[760px] px-5 pt-6 pb-10">
      <div className="flex flex-wrap items-baseline gap-2">
        <h1>{title}</h1>
        <p className="text-ink-3">
          {done === states.length ? t('setup.allDone') : t('setup.stepOf', { step: done + 1, count: states.length })}
        </p>
      </div>
      <div aria-hidden="true" className="mt-2.5 mb-4 flex gap-1">
        {states.map((state, index) => (
          <span
            // biome-ignore lint/suspicious/noArrayIndexKey: steps keep their places
            key={index}
            className={`h-1 flex-1 rounded-1 ${state === 'later' ? 'bg-press' : 'bg-accent'} ${state === 'open' ? 'opacity-55' : ''}`}
          />
        ))}
      </div>
      <ol className="grid gap-2.5">{children}</ol>
    </div>
  );
}
