/** Shares a key: a link that shows it once, to the first person who opens it. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Token } from '../../../server/contract/entities.ts';
import { Sheet } from '../../components/overlay.tsx';
import { Segment } from '../../components/segment.tsx';
import { call } from '../../lib/api.ts';
import { attempt } from '../../lib/attempt.ts';
import { siteAddress } from '../../lib/base-path.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { relative } from '../../lib/format.ts';
import { useMoney } from '../../lib/money.ts';
import { Sentence, summaryOf } from './key-summary.tsx';

const spans = ['1', '24', '168', '336'] as const;

export interface ShareKeyProps {
  readonly token: Token;
  readonly refresh: () => Promise<unknown>;
  readonly onClose: () => void;
}

export function ShareKey({ token, refresh, onClose }: ShareKeyProps) {
  const { t, i18n } = useTranslation();
  const money = useMoney();
  const [hours, setHours] = useState<(typeof spans)[number]>('24');
  const [made, setMade] = useState<{ readonly link: string; readonly until: number } | null>(null);
  const until = made?.until ?? token.link_until;
  const make = () =>
    attempt(async () => {
      const { path, until: ends } = await call('token.share', { id: token.id, hours: Number(hours) });
      setMade({ link: siteAddress() + path, until: ends });
      await refresh();
    });
  const withdraw = () =>
    attempt(async () => {
      await call('token.unshare', { id: token.id });
      await refresh();
      onClose();
    });
  return (
    <Sheet title={t('tokens.giveTitle', { name: token.name })} onClose={onClose}>
      <div className="grid gap-4">
        <p className="text-ink-2">{t('tokens.giveHelp')}</p>
        <Sentence summary={summaryOf(token, money, i18n.language)} />
        {made === null ? (
          <>
            <div>
              <p className="mb-1 text-[12px] font-medium text-ink-2">{t('tokens.linkFor')}</p>
              <Segment
                label={t('tokens.linkFor')}
                value={hours}
                options={spans.map((span) => [span, t(`tokens.linkSpan.${span}`)])}
                onChange={setHours}
              />
            </div>
            <button type="button" className="button button-primary w-fit" onClick={make}>
              {t('tokens.makeLink')}
            </button>
          </>
        ) : (
          <div className="flex items-center gap-2 rounded-2 border border-line-strong bg-sunken p-2">
            <code className="min-w-0 flex-1 font-mono text-[12px] break-all">{made.link}</code>
            <button type="button" className="button button-primary" onClick={() => copyOrShow(made.link)}>
              {t('app.copy')}
            </button>
          </div>
        )}
        {until === 0 ? null : (
          <p className="flex flex-wrap items-center gap-2 text-ink-2">
            <span className="status status-wait">
              {t('tokens.linkWaits', { until: relative(until, i18n.language) })}
            </span>
            <button type="button" className="button" onClick={withdraw}>
              {t('tokens.withdrawLink')}
            </button>
          </p>
        )}
      </div>
    </Sheet>
  );
}
