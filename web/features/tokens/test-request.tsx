/** One small real request with the key, its answer and its bill. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { call, send, wordsFor } from '../../lib/api.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useMoney } from '../../lib/money.ts';
import { useOptionalRead } from '../../lib/read.ts';

export interface TestRequestProps {
  /** With `sk-`. */
  readonly secret: string;
  readonly model: string;
}

interface Outcome {
  readonly requestId: string;
  readonly ms: number;
  /** What was answered, or why not. */
  readonly text: string;
  readonly ok: boolean;
}

interface Completion {
  readonly choices?: readonly { readonly message?: { readonly content?: string | null } }[];
  readonly error?: { readonly message?: string };
}

async function ask(secret: string, model: string): Promise<Outcome> {
  const began = performance.now();
  const response = await send('/v1/chat/completions', {
    method: 'POST',
    headers: {
      authorization: `Bearer ${secret}`,
      'content-type': 'application/json',
      'accept-language': currentLanguage(),
    },
    body: JSON.stringify({ model, max_tokens: 32, messages: [{ role: 'user', content: 'Say hello.' }] }),
  });
  const body = (await response.json().catch(() => null)) as Completion | null;
  return {
    requestId: response.headers.get('x-oneapi-request-id') ?? '',
    ms: Math.round(performance.now() - began),
    ok: response.ok,
    text: response.ok
      ? (body?.choices?.[0]?.message?.content ?? '')
      : (body?.error?.message ?? wordsFor(response.status)),
  };
}

/** The row of the log is written a moment after the answer. */
function RequestCost({ requestId }: { readonly requestId: string }) {
  const { t } = useTranslation();
  const money = useMoney();
  const row = useOptionalRead({
    queryKey: ['test-request', requestId],
    queryFn: async () => (await call('log.self', { p: 1, page_size: 1, request_id: requestId })).items[0] ?? null,
    refetchInterval: (query) => (query.state.data ? false : 700),
  }).data;
  if (!row) return null;
  return (
    <p className="mt-1 flex flex-wrap gap-x-3 text-[12px] text-ink-2">
      <span>{t('tokens.testBill', { in: row.prompt_tokens, out: row.completion_tokens, cost: money(row.quota) })}</span>
      <Link href={`/log?open=${row.id}`}>{t('tokens.seeLog')}</Link>
    </p>
  );
}

export function TestRequest({ secret, model }: TestRequestProps) {
  const { t } = useTranslation();
  const [busy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const run = async () => {
    setBusy(true);
    setOutcome(
      await ask(secret, model).catch((error: Error) => ({ requestId: '', ms: 0, ok: false, text: error.message })),
    );
    setBusy(false);
  };
  return (
    <div className="mb-5">
      <button type="button" className="button" disabled={busy || model === ''} onClick={run}>
        {t('tokens.sendTest')}
      </button>
      <span className="ml-2 text-[12px] text-ink-3">{model}</span>
      <div role="status">
        {outcome === null ? null : (
          <div className="mt-2 rounded-2 border border-line p-3">
            <p className={`status ${outcome.ok ? '' : 'status-bad'}`}>
              {outcome.ok ? t('tokens.testOk', { ms: outcome.ms }) : t('tokens.testFailed')}
            </p>
            <p className="mt-1 break-words whitespace-pre-wrap">{outcome.text}</p>
            {outcome.requestId === '' ? null : <RequestCost requestId={outcome.requestId} />}
          </div>
        )}
      </div>
    </div>
  );
}
