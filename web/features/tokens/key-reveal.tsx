/** A new key with ready lines for using it, and the fallback when the clipboard is closed to us. */
import { useTranslation } from 'react-i18next';
import { Drawer } from '../../components/overlay.tsx';

const snippets = (origin: string, key: string): readonly (readonly [string, string])[] => [
  [
    'curl',
    `curl ${origin}/v1/chat/completions \\\n  -H "Authorization: Bearer ${key}" \\\n  -H "Content-Type: application/json" \\\n  -d '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}]}'`,
  ],
  ['Python', `from openai import OpenAI\nclient = OpenAI(base_url="${origin}/v1", api_key="${key}")`],
  [
    'JavaScript',
    `import OpenAI from 'openai';\nconst client = new OpenAI({ baseURL: '${origin}/v1', apiKey: '${key}' });`,
  ],
  ['Shell', `export OPENAI_BASE_URL=${origin}/v1\nexport OPENAI_API_KEY=${key}`],
];

export function KeyReveal({
  token,
  onClose,
  onCopy,
}: {
  readonly token: string;
  readonly onClose: () => void;
  readonly onCopy: () => void;
}) {
  const { t } = useTranslation();
  return (
    <Drawer title={t('tokens.reveal')} onClose={onClose}>
      <div className="mb-5 flex items-center gap-2 rounded-2 border border-line-strong bg-sunken p-2">
        <code className="min-w-0 flex-1 font-mono text-[12px] break-all">{token}</code>
        <button type="button" className="button button-primary" onClick={onCopy}>
          {t('app.copy')}
        </button>
      </div>
      <p className="mb-2 text-ink-2">{t('tokens.revealHelp')}</p>
      {snippets(location.origin, token).map(([name, text]) => (
        <section key={name} className="mb-4">
          <h2 className="mb-1 text-[12px] font-medium text-ink-2">{name}</h2>
          <pre className="rounded-2 border border-line bg-sunken p-3 font-mono text-[12px] leading-5 break-all whitespace-pre-wrap">
            {text}
          </pre>
        </section>
      ))}
    </Drawer>
  );
}

export function CopyFailed({ text, onClose }: { readonly text: string; readonly onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Drawer title={t('app.copyFailed.title')} onClose={onClose}>
      <textarea
        className="field font-mono"
        rows={4}
        readOnly
        value={text}
        aria-label={t('app.copyFailed.title')}
        onFocus={(event) => event.target.select()}
      />
    </Drawer>
  );
}
