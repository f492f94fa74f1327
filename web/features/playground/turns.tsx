/** What was said, newest in view: each question over the answers of the models, side by side. */
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { Icon } from '../../components/icon.tsx';
import { Scrolls } from '../../components/scrolls.tsx';
import { Waiting } from '../../components/waiting.tsx';
import type { ToolCall } from '../../lib/chat-stream.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { grouped, timeText } from '../../lib/format.ts';
import { useMoney } from '../../lib/money.ts';
import { AnswerText } from './answer.tsx';
import { type Answer, type Attachment, speedOf, type Turn } from './conversation.ts';

function Message({
  own,
  who,
  children,
}: {
  readonly own: boolean;
  readonly who: string;
  readonly children: ReactNode;
}) {
  return (
    <article className={own ? 'min-w-0 rounded-3 border border-line bg-sunken px-3 py-2 text-[14px]' : 'text-[14px]'}>
      <h2 className={own ? 'sr-only' : 'mb-1 font-mono text-[12px] font-medium text-ink-2'}>{who}</h2>
      {children}
    </article>
  );
}

export const Files = ({
  files,
  onRemove,
}: {
  readonly files: readonly Attachment[];
  readonly onRemove?: (at: number) => void;
}) => {
  const { t } = useTranslation();
  return files.length === 0 ? null : (
    <ul className="mb-1 flex flex-wrap gap-2">
      {files.map(({ name, kind, data }, at) => (
        <li
          // biome-ignore lint/suspicious/noArrayIndexKey: files of one name may stand here twice
          key={at}
          className="flex items-center gap-1.5 rounded-2 border border-line bg-surface p-1 text-[12px]"
        >
          {kind === 'image' && data !== '' ? <img src={data} alt="" className="size-8 rounded-1 object-cover" /> : null}
          <span className="max-w-40 truncate">{name}</span>
          {data === '' ? <span className="text-ink-3">{t('playground.fileGone')}</span> : null}
          {onRemove === undefined ? null : (
            <button
              type="button"
              className="button button-ghost button-icon"
              aria-label={t('playground.removeFile', { name })}
              onClick={() => onRemove(at)}
            >
              <Icon name="close" />
            </button>
          )}
        </li>
      ))}
    </ul>
  );
};

/** A call of a tool: what it was given, and a field for what it gives back. */
function Calls({
  calls,
  results,
  onResults,
}: {
  readonly calls: readonly ToolCall[];
  readonly results: Answer['results'];
  readonly onResults: ((results: Answer['results']) => void) | null;
}) {
  const { t } = useTranslation();
  const [given, setGiven] = useState<Answer['results']>(results);
  return (
    <div className="mt-2 grid gap-2">
      {calls.map(({ id, name, arguments: asked }) => (
        <div key={id} className="rounded-2 border border-line p-2">
          <p className="font-mono text-[12px] break-all">
            {name}({asked})
          </p>
          <textarea
            className="field mt-1 font-mono text-[12px]"
            rows={2}
            aria-label={t('playground.result', { name })}
            placeholder={t('playground.result', { name })}
            readOnly={onResults === null}
            value={given[id] ?? ''}
            onChange={(event) => setGiven({ ...given, [id]: event.target.value })}
          />
        </div>
      ))}
      {onResults === null ? null : (
        <button
          type="button"
          className="button w-fit"
          onClick={() => onResults(Object.fromEntries(calls.map(({ id }) => [id, given[id] ?? ''])))}
        >
          {t('playground.giveResults')}
        </button>
      )}
    </div>
  );
}

/** Below a line: cost, tokens, times, the log row, and the buttons for the answer. */
function AnswerStats({ answer, actions }: { readonly answer: Answer; readonly actions: ReactNode }) {
  const { t } = useTranslation();
  const money = useMoney();
  const { cost, logId, tokensIn, tokensOut, firstMs, ms } = answer;
  const speed = speedOf(answer);
  if (ms === 0 && actions === null) return null;
  return (
    <div className="mt-1 flex min-h-9 flex-wrap items-center gap-x-3 border-t border-dotted border-line-strong pt-1 text-[12px] text-ink-3">
      {ms === 0 ? null : (
        <>
          <span className="font-medium text-ink-1">{cost === null ? '…' : money(cost, 'exact')}</span>
          {tokensOut === null ? null : <span>{t('playground.tokens', { in: tokensIn ?? 0, out: tokensOut })}</span>}
          <span>
            {firstMs === null ? '' : `${t('playground.first', { time: timeText(firstMs) })} · `}
            {timeText(ms)}
          </span>
          {speed === null ? null : <span>{`${grouped(Math.round(speed))} tok/s`}</span>}
        </>
      )}
      <span className="ml-auto flex items-center gap-0.5">
        {logId === null ? null : (
          <Link href={`/log?open=${logId}`} className="px-1.5">
            {t('playground.log')}
          </Link>
        )}
        {actions}
      </span>
    </div>
  );
}

interface PartProps {
  readonly answer: Answer;
  readonly onResults: ((results: Answer['results']) => void) | null;
  /** null = there are none. */
  readonly actions: ReactNode;
}

function Part({ answer, onResults, actions }: PartProps) {
  const { t } = useTranslation();
  const { text, thinking, calls, state, error } = answer;
  return (
    <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-1.5">
      {thinking === '' ? null : (
        <details className="text-[12px] text-ink-3">
          <summary className="cursor-pointer">{t('playground.thinking')}</summary>
          <p className="whitespace-pre-wrap break-words">{thinking}</p>
        </details>
      )}
      {state === 'loading' && text === '' && calls.length === 0 ? (
        <p className="text-ink-3">{t('app.loading')}</p>
      ) : null}
      {text === '' ? null : <AnswerText text={text} whole={state !== 'loading'} />}
      {calls.length === 0 ? null : <Calls calls={calls} results={answer.results} onResults={onResults} />}
      {error === '' ? null : <p className="break-words text-danger">{error}</p>}
      {state === 'stopped' ? <p className="text-[12px] text-ink-3">{t('playground.stopped')}</p> : null}
      <AnswerStats answer={answer} actions={actions} />
    </div>
  );
}

const Difference = lazy(async () => ({ default: (await import('./difference.tsx')).Difference }));

const textOf = (answers: readonly Answer[]): string => answers.map((answer) => answer.text).join('\n\n');

/** Offers to lay the first answer over each of the others. */
function Differences({ names, turn }: { readonly names: readonly string[]; readonly turn: Turn }) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const texts = names.map((_name, place) => textOf(turn.answers[place] ?? []));
  const [first = ''] = texts;
  const others = texts.flatMap((text, place) => (place === 0 || text === '' ? [] : [{ text, place }]));
  if (first === '' || others.length === 0) return null;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2">
      <button type="button" className="button w-fit" aria-expanded={open} onClick={() => setOpen(!open)}>
        {t(open ? 'playground.hideDifference' : 'playground.showDifference')}
      </button>
      {open ? (
        <Suspense fallback={<Waiting />}>
          {others.map(({ text, place }) => (
            <Difference key={place} names={[names[0] ?? '', names[place] ?? '']} texts={[first, text]} />
          ))}
        </Suspense>
      ) : null}
    </div>
  );
}

export interface TurnsProps {
  readonly turns: readonly Turn[];
  readonly names: readonly string[];
  readonly busy: boolean;
  readonly onRetry: (place: number) => void;
  readonly onEdit: (at: number) => void;
  readonly onResults: (place: number, results: Answer['results']) => void;
  /** Puts a question to begin with into the field. */
  readonly onStart: (text: string) => void;
}

/** By the width that the settings leave. */
const columns = ['grid-cols-1', 'grid-cols-1 @lg:grid-cols-2', 'grid-cols-1 @4xl:grid-cols-3'] as const;
const starts = ['playground.start.explain', 'playground.start.write', 'playground.start.translate'] as const;

export function Turns({ turns, names, busy, onRetry, onEdit, onResults, onStart }: TurnsProps) {
  const { t } = useTranslation();
  const end = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new words are what moves the view
  useEffect(() => {
    end.current?.scrollIntoView({ block: 'nearest' });
  }, [turns]);
  return (
    <Scrolls
      as="div"
      role="log"
      aria-live="polite"
      aria-label={t('playground.title')}
      className="@container min-h-0 flex-1 overflow-auto"
    >
      <div
        className={`mx-auto grid grid-cols-[minmax(0,1fr)] gap-5 p-5 ${names.length === 1 ? 'max-w-[800px]' : ''} ${turns.length === 0 ? 'min-h-full content-end' : ''}`}
      >
        {/* Shown until something is said, and never sent: above the field that answers it. */}
        {turns.length === 0 ? (
          <>
            <div className="ml-auto">
              <Message own who={t('playground.you')}>
                <p>{t('playground.hello')}</p>
              </Message>
            </div>
            <Message own={false} who={names[0] ?? ''}>
              <p>{t('playground.greeting')}</p>
            </Message>
            <ul className="grid gap-2 @xl:grid-cols-3">
              {starts.map((start) => (
                <li key={start} className="grid">
                  <button
                    type="button"
                    className="rounded-3 border border-line px-3 py-2 text-left text-ink-2 hover:bg-hover"
                    onClick={() => onStart(t(start))}
                  >
                    {t(start)}
                  </button>
                </li>
              ))}
            </ul>
          </>
        ) : null}
        {turns.map((turn, at) => {
          const last = at === turns.length - 1;
          return (
            <section key={turn.id} className="grid grid-cols-[minmax(0,1fr)] gap-3">
              <div className="ml-auto flex max-w-[85%] min-w-0 items-start gap-1">
                <button
                  type="button"
                  className="button button-ghost button-icon mt-1.5 flex-none"
                  aria-label={t('playground.edit')}
                  title={t('playground.edit')}
                  disabled={busy}
                  onClick={() => onEdit(at)}
                >
                  <Icon name="edit" />
                </button>
                <Message own who={t('playground.you')}>
                  <Files files={turn.files} />
                  <p className="break-words whitespace-pre-wrap">{turn.text}</p>
                </Message>
              </div>
              <div className={`grid gap-5 ${columns[names.length - 1] ?? ''}`}>
                {names.map((name, place) => {
                  const answers = turn.answers[place] ?? [];
                  const text = textOf(answers);
                  const actions = busy ? null : (
                    <>
                      <button
                        type="button"
                        className="button button-ghost button-icon"
                        aria-label={t('playground.copy', { model: name })}
                        title={t('playground.copy', { model: name })}
                        onClick={() => copyOrShow(text)}
                      >
                        <Icon name="copy" />
                      </button>
                      {last ? (
                        <button
                          type="button"
                          className="button button-ghost button-icon"
                          aria-label={t('playground.again', { model: name })}
                          title={t('playground.again', { model: name })}
                          onClick={() => onRetry(place)}
                        >
                          <Icon name="refresh" />
                        </button>
                      ) : null}
                    </>
                  );
                  return (
                    <div
                      // biome-ignore lint/suspicious/noArrayIndexKey: a model keeps its place
                      key={place}
                      className={`min-w-0 ${names.length > 1 ? 'rounded-3 border border-line px-3 pt-2.5 pb-1' : ''}`}
                    >
                      <Message own={false} who={name}>
                        <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
                          {answers.map((answer, index) => (
                            <Part
                              // biome-ignore lint/suspicious/noArrayIndexKey: answers follow each other
                              key={index}
                              answer={answer}
                              actions={index === answers.length - 1 ? actions : null}
                              onResults={
                                last && !busy && index === answers.length - 1
                                  ? (results) => onResults(place, results)
                                  : null
                              }
                            />
                          ))}
                        </div>
                      </Message>
                    </div>
                  );
                })}
              </div>
              {busy && last ? null : <Differences names={names} turn={turn} />}
            </section>
          );
        })}
        <div ref={end} />
      </div>
    </Scrolls>
  );
}
