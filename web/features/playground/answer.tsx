/** What a model answered, as the Markdown it is, its code coloured and ready to copy. */
import i18next from 'i18next';
import { useEffect, useRef } from 'react';
import { copyOrShow } from '../../lib/copy.ts';

/** A head over each piece of code: its language, and a button that copies it. */
function dress(place: HTMLElement): void {
  for (const code of place.querySelectorAll('pre > code')) {
    const language = /language-([\w+-]+)/.exec(code.className)?.[1] ?? '';
    const head = document.createElement('div');
    head.className = 'code-head';
    const name = document.createElement('span');
    name.textContent = language;
    const copy = document.createElement('button');
    copy.type = 'button';
    copy.textContent = i18next.t('app.copy');
    copy.addEventListener('click', () => void copyOrShow(code.textContent ?? ''));
    head.append(name, copy);
    code.parentElement?.before(head);
    code.parentElement?.setAttribute('tabindex', '0');
    if (language === '') continue;
    void import('../../lib/highlight.ts').then(({ highlighted }) => {
      const html = highlighted(code.textContent ?? '', language);
      if (html !== null) code.innerHTML = html;
    });
  }
}

export interface AnswerTextProps {
  readonly text: string;
  /** The answer is complete. */
  readonly whole: boolean;
}

export function AnswerText({ text, whole }: AnswerTextProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let current = true;
    void import('../../lib/markdown.ts').then(({ toSafeHtml }) => {
      if (!current || place.current === null) return;
      place.current.innerHTML = toSafeHtml(text);
      if (whole) dress(place.current);
    });
    return () => {
      current = false;
    };
  }, [text, whole]);
  return <div ref={place} className="markdown text-[14px] break-words" />;
}
