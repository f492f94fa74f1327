/** Talk to a model on one's own account: settings beside, conversation in the middle. */
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { Field } from '../../components/form.tsx';
import { PageHead } from '../../components/page.tsx';
import { call } from '../../lib/api.ts';
import { messageOf } from '../../lib/attempt.ts';
import { converse, type Said } from './converse.ts';

interface Line extends Said {
  readonly id: number;
  readonly state: 'loading' | 'incomplete' | 'complete' | 'error';
}

const fallbackModel = 'gpt-4o-mini';

export function PlaygroundPage() {
  const { t } = useTranslation();
  const groups = useQuery({ queryKey: ['own-groups'], queryFn: () => call('user.groups') }).data ?? {};
  const models = useQuery({ queryKey: ['own-models'], queryFn: () => call('user.models') }).data ?? [];
  const [group, setGroup] = useState('');
  const [chosen, setChosen] = useState('');
  const [temperature, setTemperature] = useState(0.1);
  const [maxTokens, setMaxTokens] = useState('');
  const [system, setSystem] = useState('');
  const [text, setText] = useState('');
  const [lines, setLines] = useState<readonly Line[]>([]);
  const [abort, setAbort] = useState<AbortController | null>(null);
  const [shown, setShown] = useState(false);
  const end = useRef<HTMLDivElement>(null);
  const next = useRef(1);
  const model = chosen || (models.includes(fallbackModel) ? fallbackModel : (models[0] ?? ''));
  useEffect(() => {
    if (new URLSearchParams(location.search).get('expired') === 'true') toast.error(t('login.expired'));
  }, [t]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new words are what moves the view
  useEffect(() => {
    end.current?.scrollIntoView({ block: 'nearest' });
  }, [lines]);

  const send = async (event: FormEvent) => {
    event.preventDefault();
    const content = text.trim();
    if (content === '' || abort !== null || model === '') return;
    const mine: Line = { id: next.current++, role: 'user', content, state: 'complete' };
    const answer: Line = { id: next.current++, role: 'assistant', content: '', state: 'loading' };
    const before = [...lines, mine];
    setText('');
    setLines([...before, answer]);
    const control = new AbortController();
    setAbort(control);
    const change = (edit: (line: Line) => Line) =>
      setLines((old) => old.map((line) => (line.id === answer.id ? edit(line) : line)));
    const messages: Said[] = [
      { role: 'system', content: system.trim() === '' ? t('playground.defaultSystem') : system },
      ...before.filter(({ state }) => state !== 'error').map(({ role, content: words }) => ({ role, content: words })),
    ];
    const wish = { model, group, temperature, maxTokens: Number.parseInt(maxTokens, 10) || 0 };
    try {
      await converse(
        messages,
        wish,
        (piece) => change((line) => ({ ...line, content: line.content + piece, state: 'incomplete' })),
        control.signal,
      );
      change((line) => ({ ...line, state: 'complete' }));
    } catch (error) {
      const gone = control.signal.aborted;
      change((line) => ({
        ...line,
        content: gone ? line.content : `${line.content}${line.content === '' ? '' : '\n'}${messageOf(error)}`,
        state: gone ? 'complete' : 'error',
      }));
    } finally {
      setAbort(null);
    }
  };

  const settings = (
    <div className="w-full flex-none sm:w-64">
      <Field label={t('playground.group')}>
        {(ids) => (
          <select {...ids} className="field" value={group} onChange={(event) => setGroup(event.target.value)}>
            <option value="">{t('playground.ownGroup')}</option>
            {Object.entries(groups as Record<string, { desc?: string; ratio?: number | string }>).map(
              ([name, { desc, ratio }]) => (
                <option key={name} value={name}>
                  {`${desc || name} (${ratio ?? 1}×)`}
                </option>
              ),
            )}
          </select>
        )}
      </Field>
      <Field label={t('playground.model')} help={models.length === 0 ? t('playground.noModels') : undefined}>
        {(ids) => (
          <>
            <input
              {...ids}
              className="field"
              list="playground-models"
              value={chosen === '' ? model : chosen}
              onChange={(event) => setChosen(event.target.value)}
            />
            <datalist id="playground-models">
              {models.map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </>
        )}
      </Field>
      <Field label={t('playground.temperature', { value: temperature })}>
        {(ids) => (
          <input
            {...ids}
            type="range"
            min={0.1}
            max={1}
            step={0.1}
            className="accent-(--accent)"
            value={temperature}
            onChange={(event) => setTemperature(Number(event.target.value))}
          />
        )}
      </Field>
      <Field label={t('playground.maxTokens')}>
        {(ids) => (
          <input
            {...ids}
            className="field"
            inputMode="numeric"
            value={maxTokens}
            onChange={(event) => setMaxTokens(event.target.value)}
          />
        )}
      </Field>
      <Field label={t('playground.system')}>
        {(ids) => (
          <textarea
            {...ids}
            className="field"
            rows={4}
            placeholder={t('playground.defaultSystem')}
            value={system}
            onChange={(event) => setSystem(event.target.value)}
          />
        )}
      </Field>
    </div>
  );

  return (
    <>
      <PageHead title={t('playground.title')}>
        <button type="button" className="button sm:hidden" aria-expanded={shown} onClick={() => setShown(!shown)}>
          {t('nav.settings')}
        </button>
        <button type="button" className="button" disabled={lines.length === 0} onClick={() => setLines([])}>
          {t('playground.clear')}
        </button>
      </PageHead>
      <div className="flex gap-5 px-5 pb-5 max-sm:flex-col">
        <div className={shown ? '' : 'max-sm:hidden'}>{settings}</div>
        <div className="flex min-h-[60dvh] min-w-0 flex-1 flex-col rounded-3 border border-line bg-surface">
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
                <p className={`break-words whitespace-pre-wrap ${line.state === 'error' ? 'text-danger' : ''}`}>
                  {line.state === 'loading' ? t('app.loading') : line.content}
                </p>
              </article>
            ))}
            <div ref={end} />
          </div>
          <form onSubmit={send} className="flex gap-2 border-t border-line p-3">
            <textarea
              className="field min-w-0 flex-1"
              rows={2}
              aria-label={t('playground.say')}
              placeholder={t('playground.say')}
              value={text}
              onChange={(event) => setText(event.target.value)}
              onKeyDown={(event) => {
                if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) void send(event);
              }}
            />
            {abort === null ? (
              <button type="submit" className="button button-primary self-end">
                {t('playground.send')}
              </button>
            ) : (
              <button type="button" className="button self-end" onClick={() => abort.abort()}>
                {t('playground.stop')}
              </button>
            )}
          </form>
        </div>
      </div>
    </>
  );
}
