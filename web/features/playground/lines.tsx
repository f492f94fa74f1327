/** What was said, newest in view. */
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Answer } from './answer.tsx';
import type { Line } from './use-conversation.ts';

export function Lines({ lines, model }: { readonly lines: readonly Line[]; readonly model: string }) {
  const { t } = useTranslation();
  const end = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new words are what moves the view
  useEffect(() => {
    end.current?.scrollIntoView({ block: 'nearest' });
  }, [lines]);

  return (
    <div
      role="log"
      aria-live="polite"
      aria-label={t('playground.title')}
      className="flex-1 space-y-4 overflow-auto p-4"
    >
      {lines.length === 0 ? <p className="text-ink-2">{t('playground.greeting')}</p> : null}
      {lines.map((line) => (
        <article
          key={line.id}
          className={line.role === 'user' ? 'ml-auto max-w-[80%] rounded-3 bg-sunken px-3 py-2' : ''}
        >
          <h2 className="text-[11px] text-ink-3">{line.role === 'user' ? t('playground.you') : model}</h2>
          {line.role === 'assistant' && (line.state === 'complete' || line.state === 'incomplete') ? (
            <Answer text={line.content} />
          ) : (
            <p className={`break-words whitespace-pre-wrap ${line.state === 'error' ? 'text-danger' : ''}`}>
              {line.state === 'loading' ? t('app.loading') : line.content}
            </p>
          )}
        </article>
      ))}
      <div ref={end} />
    </div>
  );
}
