/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "edge/rehearsal.h"

int main(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "rehearse") != 0) {
		fputs("usage: rehearse_main rehearse ...\n", stderr);
		return 2;
	}
	return rehearsal_main(argc - 1, argv + 1);
}
