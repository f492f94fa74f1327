/** A new key with ready lines for using it, and the fallback when the clipboard is closed to us. */
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Token } from '../../../server/contract/entities.ts';
import { displayedKey } from '../../../server/contract/token-key.ts';
import { Sheet } from '../../components/overlay.tsx';
import { UseWith, useUsableModels } from '../../components/use-with.tsx';
import { call } from '../../lib/api.ts';
import { useMoney } from '../../lib/money.ts';
import { useOptionalRead } from '../../lib/read.ts';
import { Sentence, summaryOf } from './key-summary.tsx';
import { TestRequest } from './test-request.tsx';

export interface NewKeyProps {
  readonly token: Token;
  readonly onClose: () => void;
  readonly onCopy: (text: string) => void;
  /** Opens the dialog that shares the key. */
  readonly onShare: () => void;
}

/** Looks for the first request with the new key until there is one. */
function FirstRequest({ token: { id, name, created_time: since } }: { readonly token: Token }) {
  const { t } = useTranslation();
  const money = useMoney();
  const found = useOptionalRead({
    queryKey: ['first-request', id],
    // By its id: names come again. The name and the time are what the log has an index for.
    queryFn: () =>
      call('log.self', { p: 1, page_size: 1, type: 2, token_id: id, token_name: name, start_timestamp: since }),
    refetchInterval: (query) => ((query.state.data?.total ?? 0) > 0 ? false : 2000),
  }).data?.items[0];
  return (
    <p role="status" className="mb-5 flex items-center gap-2 text-ink-2">
      {found === undefined ? (
        t('tokens.waiting')
      ) : (
        <>
          <span className="status">{t('tokens.seen', { model: found.model_name, cost: money(found.quota) })}</span>
          <Link href={`/log?open=${found.id}`}>{t('tokens.seeLog')}</Link>
        </>
      )}
    </p>
  );
}

export function NewKey({ token, onClose, onCopy, onShare }: NewKeyProps) {
  const { t, i18n } = useTranslation();
  const money = useMoney();
  const models = useUsableModels(token);
  const key = displayedKey(token.key);
  return (
    <Sheet title={t('tokens.reveal')} onClose={onClose}>
      <div className="mb-3 flex items-center gap-2 rounded-2 border border-line-strong bg-sunken p-2">
        <code className="min-w-0 flex-1 font-mono text-[12px] break-all">{key}</code>
        <button type="button" className="button button-primary" onClick={() => onCopy(key)}>
          {t('app.copy')}
        </button>
      </div>
      <div className="mb-4">
        <Sentence summary={summaryOf(token, money, i18n.language)} />
      </div>
      <TestRequest secret={key} model={models[0] ?? ''} />
      <FirstRequest token={token} />
      <p className="mb-5">
        <button type="button" className="button" onClick={onShare}>
          {t('tokens.give')}
        </button>
      </p>
      <p className="mb-2 text-ink-2">{t('tokens.revealHelp')}</p>
      <UseWith token={token} onCopy={onCopy} />
    </Sheet>
  );
}
