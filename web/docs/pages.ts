/** The pages of the user documentation, in the order of its menu. Their texts lie in `en/` and `zh/`, or are generated elsewhere. */
import type { Language } from '../../server/contract/enums.ts';

type Text = Readonly<Record<Language, string>>;

export interface DocsPage {
  /** Last part of its address, and the name of its file. */
  readonly slug: string;
  readonly title: Text;
  /** Where the text is written by a generator: its path from the root, by language. */
  readonly generated?: Text;
}

export interface DocsSection {
  readonly title: Text;
  readonly pages: readonly DocsPage[];
}

const page = (slug: string, en: string, zh: string): DocsPage => ({ slug, title: { en, zh } });
const generated = (slug: string, en: string, zh: string, path: string): DocsPage => ({
  ...page(slug, en, zh),
  generated: { en: `${path}.md`, zh: `${path}.zh.md` },
});

export const docsSections: readonly DocsSection[] = [
  {
    title: { en: 'Start', zh: '开始' },
    pages: [
      page('index', 'What gateway is', '这是什么'),
      page('quick-start', 'Quick start', '快速开始'),
      page('agents', 'Coding agents', '编程智能体'),
      page('migration', 'Moving in', '迁移'),
    ],
  },
  {
    title: { en: 'Run a site', zh: '运营站点' },
    pages: [
      page('channels', 'Channels', '渠道'),
      page('billing', 'Prices and billing', '价格与计费'),
      page('users', 'Users and keys', '用户与密钥'),
      page('api', 'API and scripts', 'API 与脚本'),
    ],
  },
  {
    title: { en: 'Operate', zh: '运维' },
    pages: [
      page('service', 'Service, upgrade, backup', '服务、升级与备份'),
      page('monitoring', 'Monitoring and overload', '监控与过载'),
      page('several-machines', 'Several machines', '多台机器'),
      page('security', 'Security', '安全'),
      page('performance', 'Performance', '性能'),
      page('troubleshooting', 'Troubleshooting', '故障排查'),
    ],
  },
  {
    title: { en: 'Reference', zh: '参考' },
    pages: [
      page('glossary', 'Glossary', '术语表'),
      generated('commands', 'Commands', '命令', 'cli/COMMANDS'),
      generated('options', 'Options', '选项', 'server/contract/OPTIONS'),
      generated('providers', 'Providers', '上游类型', 'server/providers/PROVIDERS'),
      generated('agent-settings', 'Agent settings', '智能体配置', 'cli/AGENTS'),
    ],
  },
];

export const docsPages: readonly DocsPage[] = docsSections.flatMap(({ pages }) => pages);
