/** What this site is: in the administrator's words, or what it says of itself. */
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { textIn } from '../../../server/contract/language.ts';
import { Frame } from '../../components/frame.tsx';
import { Icon } from '../../components/icon.tsx';
import { PageHead } from '../../components/page.tsx';
import { Waiting } from '../../components/waiting.tsx';
import { call } from '../../lib/api.ts';
import { grouped } from '../../lib/format.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { useRead } from '../../lib/read.ts';
import { isRoot, useUser } from '../../lib/session.ts';
import { useStatus } from '../../shell/status.ts';
import { BaseUrl } from './base-url.tsx';
import { usePrices } from './prices.ts';

function OwnAbout() {
  const { t } = useTranslation();
  const status = useStatus().data;
  const prices = usePrices().data;
  const models = prices?.data ?? [];
  const makers = new Set(models.flatMap(({ maker }) => (maker === null ? [] : [textIn(maker, currentLanguage())])));
  const figures = [
    ...(prices === undefined ? [] : [[t('site.models'), grouped(models.length)] as const]),
    [t('site.protocols'), 'OpenAI · Anthropic · Gemini'] as const,
    ...(status?.version === undefined ? [] : [[t('site.version'), status.version] as const]),
  ];
  return (
    <div className="grid max-w-3xl gap-5">
      <p className="text-[14px] leading-6 text-pretty">{t('site.aboutText', { name: status?.system_name ?? '' })}</p>
      <BaseUrl address={status?.server_address || location.origin} />
      <dl className="grid grid-cols-3 gap-4 max-sm:grid-cols-1 max-sm:gap-3">
        {figures.map(([label, value]) => (
          <div key={label}>
            <dt className="text-[12px] text-ink-3">{label}</dt>
            <dd className="text-[16px] leading-6 font-medium">{value}</dd>
          </div>
        ))}
      </dl>
      {makers.size === 0 ? null : <p className="text-ink-2">{t('site.makers', { makers: [...makers].join(' · ') })}</p>}
    </div>
  );
}

export function AboutPage() {
  const { t } = useTranslation();
  const root = isRoot(useUser());
  const about = useRead({ queryKey: ['about'], queryFn: () => call('status.about') }).data;
  return (
    <div className="mx-auto max-w-7xl py-4">
      <PageHead title={t('nav.about')} large>
        {root && about !== undefined ? (
          <Link href="/setting?q=About" className="button">
            <Icon name="edit" />
            {t(about === '' ? 'site.writeAbout' : 'site.edit')}
          </Link>
        ) : null}
      </PageHead>
      <div className="px-5">
        {about === undefined ? <Waiting /> : null}
        {about ? (
          <div className="max-w-4xl">
            <Frame title={t('nav.about')} content={about} asPage />
          </div>
        ) : null}
        {about === '' ? <OwnAbout /> : null}
        <p className="mt-6 flex gap-2">
          <Link href="/pricing" className="button">
            {t('nav.pricing')}
          </Link>
          <Link href="/api-docs" className="button">
            {t('apiDocs.title')}
          </Link>
        </p>
        {root && about === '' ? <p className="mt-4 text-[12px] text-ink-3">{t('site.noAbout')}</p> : null}
      </div>
    </div>
  );
}
