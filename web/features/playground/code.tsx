/** The request of the composer as code that runs elsewhere. */
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Scrolls } from '../../components/scrolls.tsx';
import { Segment } from '../../components/segment.tsx';
import { copyOrShow } from '../../lib/copy.ts';
import { useServerAddress } from '../../lib/status.ts';
import { codeOf } from './conversation.ts';

const languages = { curl: 'bash', python: 'python', node: 'javascript' } as const;
type Kind = keyof typeof languages;

export function Code({ body }: { readonly body: Readonly<Record<string, unknown>> }) {
  const { t } = useTranslation();
  const [kind, setKind] = useState<Kind>('curl');
  const [html, setHtml] = useState<string | null>(null);
  const code = codeOf(useServerAddress(), body)[kind];
  useEffect(() => {
    // Imports resolve in the order of their calls, so the last text wins.
    void import('../../lib/highlight.ts').then(({ highlighted }) => setHtml(highlighted(code, languages[kind])));
  }, [code, kind]);
  return (
    <div className="min-h-0 flex-1 overflow-auto p-5">
      <div className="mb-3 flex items-center gap-2">
        <Segment<Kind>
          label={t('playground.code')}
          value={kind}
          options={[
            ['curl', 'curl'],
            ['python', 'Python'],
            ['node', 'Node'],
          ]}
          onChange={setKind}
        />
        <button type="button" className="button ml-auto" onClick={() => copyOrShow(code)}>
          {t('app.copy')}
        </button>
      </div>
      <Scrolls
        as="pre"
        className="overflow-auto rounded-3 border border-line bg-sunken p-3 font-mono text-[12px] leading-5 whitespace-pre-wrap break-words"
      >
        {html === null ? (
          code
        ) : (
          // biome-ignore lint/security/noDangerouslySetInnerHtml: the highlighter escapes what it is given
          <code dangerouslySetInnerHTML={{ __html: html }} />
        )}
      </Scrolls>
    </div>
  );
}
