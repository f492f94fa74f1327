/** Links to one document: made, copied once, counted and revoked. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { InputOf } from '../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../server/contract/endpoints/index.ts';
import type { DocumentLink } from '../../server/contract/endpoints/link.ts';
import { linkDays } from '../../server/contract/link.ts';
import { call } from '../lib/api.ts';
import { attempt } from '../lib/attempt.ts';
import { siteAddress } from '../lib/base-path.ts';
import { copyOrShow } from '../lib/copy.ts';
import { day, grouped } from '../lib/format.ts';
import { useRead } from '../lib/read.ts';
import { Sheet } from './overlay.tsx';
import { Waiting } from './waiting.tsx';

interface LinkSheetProps {
  /** As `link.create` takes it. */
  readonly of: InputOf<EndpointOf<'link.create'>>;
  /** By which its links are found. */
  readonly title: string;
  readonly onClose: () => void;
}

/** So many are listed. */
const maxLinks = 50;

function Links({ title }: { readonly title: string }) {
  const { t, i18n } = useTranslation();
  const client = useQueryClient();
  const links = useRead({
    queryKey: ['links', title],
    queryFn: () => call('link.list', { keyword: title, p: 1, page_size: maxLinks }),
  }).data?.items.filter((one) => one.title === title);
  if (links === undefined) return <Waiting />;
  if (links.length === 0) return <p className="text-ink-2">{t('links.none')}</p>;
  const revoke = async ({ id }: DocumentLink) => {
    await attempt(() => call('link.revoke', { id }), t('links.revoked'));
    await client.invalidateQueries({ queryKey: ['links'] });
  };
  return (
    <ul className="border-t border-line">
      {links.map((link) => (
        <li key={link.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line py-2">
          <span className="min-w-0 flex-1">
            <span className={link.state === '' ? 'status' : 'status status-off'}>
              {link.state === ''
                ? t('links.until', { day: day(link.expires_time, i18n.language) })
                : t(`links.states.${link.state}`)}
            </span>
            <span className="block text-[12px] text-ink-3">
              {t('links.opened', { count: link.opened, shown: grouped(link.opened) })}
              {link.opened_time === 0 ? '' : ` · ${day(link.opened_time, i18n.language)}`}
            </span>
          </span>
          {link.state === '' ? (
            <button type="button" className="button" onClick={() => void revoke(link)}>
              {t('links.revoke')}
            </button>
          ) : null}
        </li>
      ))}
    </ul>
  );
}

export function LinkSheet({ of, title, onClose }: LinkSheetProps) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [made, setMade] = useState('');
  const make = () =>
    attempt(async () => {
      const { path } = await call('link.create', of);
      const address = `${siteAddress()}${path}`;
      setMade(address);
      await copyOrShow(address);
      await client.invalidateQueries({ queryKey: ['links'] });
    });
  return (
    <Sheet title={t('links.title', { name: title })} onClose={onClose}>
      <p className="mb-3 text-ink-2">{t('links.text', { days: linkDays })}</p>
      <button type="button" className="button button-primary mb-4" onClick={() => void make()}>
        {t('links.create')}
      </button>
      {made === '' ? null : (
        <div className="mb-4 flex items-center gap-2 rounded-2 border border-line-strong bg-sunken p-2">
          <code className="min-w-0 flex-1 font-mono text-[12px] break-all">{made}</code>
          <button type="button" className="button" onClick={() => copyOrShow(made)}>
            {t('app.copy')}
          </button>
        </div>
      )}
      <Links title={title} />
    </Sheet>
  );
}
