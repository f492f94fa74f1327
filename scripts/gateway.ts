/** `npm run --silent gateway -- <command>`. */
import { runGateway } from './run-gateway.ts';

runGateway(process.argv.slice(2));
