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

/** A command of the terminal, to be copied. */
export function Command({ text }: { readonly text: string }) {
  const { t } = useTranslation();
  return (
    <p className="flex max-w-full items-center gap-1">
      <code className="min-w-0 rounded-2 bg-sunken px-2 py-1 font-mono text-[12px] break-words text-ink-2">{text}</code>
      <button
        type="button"
        className="button button-ghost button-icon"
        aria-label={t('app.copyCommand')}
        title={t('app.copyCommand')}
        onClick={() => copyOrShow(text)}
      >
        <Icon name="copy" />
      </button>
    </p>
  );
}

/** Its first sentence says what is missing, and stands out; the others say what it is for. */
const firstSentence = /^(.*?(?:[.!?](?=\s)|[。！？](?=.)))(.*)$/s;

export function Empty({ text, command, children }: EmptyProps) {
  const [, first = text, rest = ''] = firstSentence.exec(text) ?? [];
  return (
    <div className="mx-auto grid max-w-xl justify-items-center gap-4 py-[8vh] text-center">
      <p className="text-balance text-ink-2">
        <strong className="block pb-1 text-[14px] font-semibold text-ink-1">{first}</strong>
        {rest}
      </p>
      {children}
      {command === undefined ? null : <Command text={command} />}
    </div>
  );
}
