/** Nothing to show: why, what to do next, and the command that does the same. */
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { copyOrShow } from '../lib/copy.ts';
import { Icon } from './icon.tsx';

export interface EmptyProps {
  readonly text: string;
  readonly command?: string;
  /** The one thing to do next. */
  readonly children?: ReactNode;
}

export function Empty({ text, command, children }: EmptyProps) {
  const { t } = useTranslation();
  return (
    <div className="grid justify-items-start gap-3">
      <p>{text}</p>
      {children}
      {command === undefined ? null : (
        <p className="flex max-w-full items-center gap-1">
          <code className="min-w-0 rounded-2 bg-sunken px-2 py-1 font-mono text-[12px] break-words text-ink-2">
            {command}
          </code>
          <button
            type="button"
            className="button button-ghost button-icon"
            aria-label={t('app.copyCommand')}
            title={t('app.copyCommand')}
            onClick={() => copyOrShow(command)}
          >
            <Icon name="copy" />
          </button>
        </p>
      )}
    </div>
  );
}
