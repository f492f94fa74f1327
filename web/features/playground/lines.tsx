/** What was said, newest in view. */
import { type ReactNode, useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Answer } from './answer.tsx';
import type { Line } from './use-conversation.ts';

function Bubble({ own, who, children }: { readonly own: boolean; readonly who: string; readonly children: ReactNode }) {
  return (
    <article className={own ? 'ml-auto max-w-[80%] rounded-3 bg-sunken px-3 py-2' : ''}>
      <h2 className="text-[11px] text-ink-3">{who}</h2>
      {children}
    </article>
  );
}

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
      {/* Shown until something is said, and never sent. */}
      {lines.length === 0 ? (
        <>
          <Bubble own who={t('playground.you')}>
            <p>{t('playground.hello')}</p>
          </Bubble>
          <Bubble own={false} who={model}>
            <p>{t('playground.greeting')}</p>
          </Bubble>
        </>
      ) : null}
      {lines.map((line) => (
        <Bubble key={line.id} own={line.role === 'user'} who={line.role === 'user' ? t('playground.you') : model}>
          {line.role === 'assistant' && (line.state === 'complete' || line.state === 'incomplete') ? (
            <Answer text={line.content} />
          ) : (
            <p className={`break-words whitespace-pre-wrap ${line.state === 'error' ? 'text-danger' : ''}`}>
              {line.state === 'loading' ? t('app.loading') : line.content}
            </p>
          )}
        </Bubble>
      ))}
      <div ref={end} />
    </div>
  );
}
