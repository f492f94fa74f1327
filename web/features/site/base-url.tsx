import { useTranslation } from 'react-i18next';
import { Icon } from '../../components/icon.tsx';
import { copyOrShow } from '../../lib/copy.ts';

/** What a client is pointed at. */
export function BaseUrl({ address }: { readonly address: string }) {
  const { t } = useTranslation();
  const url = `${address}/v1`;
  return (
    <section
      aria-label={t('site.baseUrl')}
      className="flex items-center gap-3 rounded-3 border border-line bg-sunken py-2 pr-2 pl-4 max-sm:flex-wrap"
    >
      <span className="flex-none text-ink-2 max-sm:basis-full">{t('site.baseUrl')}</span>
      <code className="min-w-0 flex-1 font-mono break-all">{url}</code>
      <button type="button" className="button" onClick={() => copyOrShow(url)}>
        <Icon name="copy" />
        {t('app.copy')}
      </button>
    </section>
  );
}
