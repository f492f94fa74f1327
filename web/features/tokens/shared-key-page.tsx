/** What a link that gives a key opens: the key, once, after a click; mail scanners that follow links use nothing up. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import { displayedKey } from '../../../server/contract/token-key.ts';
import { UseWith } from '../../components/use-with.tsx';
import { call } from '../../lib/api.ts';
import { messageOf } from '../../lib/attempt.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { useMoney } from '../../lib/money.ts';
import { Sentence, summaryOf } from './key-summary.tsx';

type SharedKey = OutputOf<EndpointOf<'token.open_shared'>>;

export function SharedKeyPage() {
  const { t, i18n } = useTranslation();
  const money = useMoney();
  const [shared, setShared] = useState<SharedKey | null>(null);
  const [failed, setFailed] = useState('');
  const [busy, setBusy] = useState(false);
  const open = async () => {
    setBusy(true);
    try {
      setShared(await call('token.open_shared', { secret: location.hash.slice(1) }));
      // It shows nothing a second time.
      history.replaceState(history.state, '', location.pathname);
    } catch (failure) {
      setFailed(messageOf(failure));
    }
    setBusy(false);
  };
  return (
    <div className="mx-auto w-full max-w-[640px] px-5 py-8">
      <h1 className="mb-2 text-[16px] leading-6 font-semibold">{t('tokens.given.title')}</h1>
      {shared === null ? (
        <>
          <p className="mb-4 text-ink-2">{t('tokens.given.text')}</p>
          {failed === '' ? (
            <button type="button" className="button button-primary" disabled={busy} onClick={open}>
              {t('tokens.given.show')}
            </button>
          ) : (
            <p role="alert" className="text-danger">
              {failed}
            </p>
          )}
        </>
      ) : (
        <>
          <p className="mb-4 text-ink-2">{t('tokens.given.once')}</p>
          <div className="mb-4 flex items-center gap-2 rounded-2 border border-line-strong bg-sunken p-2">
            <code className="min-w-0 flex-1 font-mono text-[12px] break-all">{displayedKey(shared.key)}</code>
            <button
              type="button"
              className="button button-primary"
              onClick={() => copyOrShow(displayedKey(shared.key))}
            >
              {t('app.copy')}
            </button>
          </div>
          <div className="mb-6">
            <Sentence summary={summaryOf(shared, money, i18n.language)} />
          </div>
          <h2 className="mb-2 font-semibold">{t('tokens.revealHelp')}</h2>
          <UseWith token={shared} onCopy={copyOrShow} own={false} />
        </>
      )}
    </div>
  );
}
